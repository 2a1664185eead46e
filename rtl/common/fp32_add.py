"""The sum of two FP32 numbers."""

from amaranth import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.spec.formats import FP32
from bitpath.rtl.common.bodies import place
from bitpath.rtl.common.decode import Decode
from bitpath.rtl.common.exact_add import ExactAdd
from bitpath.rtl.common.fp32_result import Fp32Result
from bitpath.rtl.common.specials import sum_special

OFFSET = FP32.bias + FP32.fraction_bits
"""A decoded number is ``significand * 2**(exponent - OFFSET)``."""


class Fp32Add(wiring.Component):
    """``o = a + b``, rounded once to nearest even. Combinational.

    Members
    -------
    a, b : In(32), FP32
    o : Out(32), FP32
    """

    clocked = False
    a: In(FP32.width)
    b: In(FP32.width)
    o: Out(FP32.width)

    def elaborate(self, platform):
        m = Module()
        left = place(m, platform, "decode_a", Decode, (FP32,))
        right = place(m, platform, "decode_b", Decode, (FP32,))
        m.submodules.add = add = ExactAdd(
            fixed_width=FP32.precision + 1,
            # Biased exponents less OFFSET lie between -OFFSET and 2**exponent_bits - OFFSET.
            fixed_exponent_width=FP32.exponent_bits + 1,
            exponent_width=FP32.exponent_bits,
            precision=FP32.precision,
            offset=OFFSET,
        )
        result = place(m, platform, "result", Fp32Result, add.o.shape())
        m.d.comb += [
            left.code.eq(self.a),
            right.code.eq(self.b),
            add.fixed.eq(Mux(left.o.sign, -left.o.significand, left.o.significand)),
            add.fixed_exponent.eq(left.o.exponent - OFFSET),
            add.number.eq(right.o),
            result.i.eq(add.o),
            result.special.eq(sum_special(m, (left.o, right.o))),
            self.o.eq(result.o),
        ]
        return m
