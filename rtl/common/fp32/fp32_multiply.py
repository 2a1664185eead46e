"""Product of two FP32 numbers."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.arithmetic.decode import Decode
from bitpath.rtl.common.arithmetic.multiply import Multiply
from bitpath.rtl.common.arithmetic.raw import raw_sum
from bitpath.rtl.common.fp32.fp32_result import Fp32Result
from bitpath.rtl.common.pipeline.shared_instances import instantiate

OFFSET = 2 * (FP32.bias + FP32.fraction_bits)
"""The product of two decoded numbers is ``significand * 2**(exponent - OFFSET)``."""
EXPONENT_WIDTH = bits_for(OFFSET) + 1
"""Bits of a product's signed exponent: the biased sum less OFFSET lies between -OFFSET and OFFSET."""


class Fp32Multiply(wiring.Component):
    """Combinational FP32 product ``o = a * b``, rounded once to nearest even.

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
        left = instantiate(m, platform, "decode_a", Decode, (FP32,))
        right = instantiate(m, platform, "decode_b", Decode, (FP32,))
        multiply = instantiate(m, platform, "multiply", Multiply, left.o.shape())
        product = multiply.o
        exact = Signal(raw_sum(2 * FP32.precision, EXPONENT_WIDTH))
        result = instantiate(m, platform, "result", Fp32Result, exact.shape())
        m.d.comb += [
            left.code.eq(self.a),
            right.code.eq(self.b),
            multiply.a.eq(left.o),
            multiply.b.eq(right.o),
            exact.magnitude.eq(product.significand),
            exact.exponent.eq(product.exponent - OFFSET),
            exact.sign.eq(product.sign),
            result.i.eq(exact),
            result.special.sign.eq(product.sign),
            result.special.inf.eq(product.inf),
            result.special.nan.eq(product.nan),
            self.o.eq(result.o),
        ]
        return m
