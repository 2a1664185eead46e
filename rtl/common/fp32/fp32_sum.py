"""FP32 sum of two unpacked numbers."""

from amaranth import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.arithmetic.exact_add import ExactAdd
from bitpath.rtl.common.arithmetic.raw import raw_float
from bitpath.rtl.common.arithmetic.specials import sum_special
from bitpath.rtl.common.fp32.fp32_result import Fp32Result
from bitpath.rtl.common.pipeline.shared_instances import instantiate

OFFSET = FP32.bias + FP32.fraction_bits
"""A decoded number is ``significand * 2**(exponent - OFFSET)``."""
UNPACKED = raw_float(FP32.exponent_bits, FP32.precision)
"""Layout of a decoded FP32 number, or of a narrower one with FP32's bias and its significand padded with zeros."""


class Fp32Sum(wiring.Component):
    """Combinational FP32 sum ``o = a + b`` of unpacked numbers, rounded once to nearest even.

    Members
    -------
    a, b : In(UNPACKED)
    o : Out(32), FP32
    """

    clocked = False
    apart = True
    a: In(UNPACKED)
    b: In(UNPACKED)
    o: Out(FP32.width)

    def elaborate(self, platform):
        m = Module()
        m.submodules.add = add = ExactAdd(
            fixed_width=FP32.precision + 1,
            # Biased exponents less OFFSET lie between -OFFSET and 2**exponent_bits - OFFSET.
            fixed_exponent_width=FP32.exponent_bits + 1,
            exponent_width=FP32.exponent_bits,
            precision=FP32.precision,
            offset=OFFSET,
        )
        result = instantiate(m, platform, "result", Fp32Result, add.o.shape())
        m.d.comb += [
            add.fixed.eq(Mux(self.a.sign, -self.a.significand, self.a.significand)),
            add.fixed_exponent.eq(self.a.exponent - OFFSET),
            add.number.eq(self.b),
            result.i.eq(add.o),
            result.special.eq(sum_special(m, (self.a, self.b))),
            self.o.eq(result.o),
        ]
        return m
