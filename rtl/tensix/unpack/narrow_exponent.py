"""8-bit exponent to 5-bit exponent: FP32 to the range of FP16.

``exponent - 112``, saturated. Ref: ttsim v1.10.0, for FP32ToFP16, which tt-isa-documentation 3930471 leaves undefined.
"""

from amaranth import Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP16, FP32
from bitpath.rtl.tensix.unpack.float_word import FloatWord

REBIAS = FP32.bias - FP16.bias
"""Difference of the biases of 8-bit and 5-bit exponents, 112."""


class NarrowExponent(wiring.Component):
    """A float with an 8-bit exponent as one with a 5-bit exponent; the fraction keeps its length.

    Overflow sets all exponent and fraction bits; underflow gives a zero of its sign. A rebiased exponent of exactly 0 keeps its
    fraction. Combinational: latency 0.

    Members
    -------
    i : In(FloatWord)
    o : Out(FloatWord)
    """

    clocked = False
    i: In(FloatWord)
    o: Out(FloatWord)

    def elaborate(self, platform):
        m = Module()
        # 9 signed bits hold the difference: REBIAS is below 2**8.
        exponent = Signal(signed(FP32.exponent_bits + 1))
        m.d.comb += [
            exponent.eq(self.i.exponent - REBIAS),
            self.o.sign.eq(self.i.sign),
        ]
        with m.If(exponent > FP16.exponent_mask):
            m.d.comb += [self.o.exponent.eq(FP16.exponent_mask), self.o.fraction.eq(FP32.fraction_mask)]
        with m.Elif(exponent >= 0):
            m.d.comb += [self.o.exponent.eq(exponent), self.o.fraction.eq(self.i.fraction)]
        return m
