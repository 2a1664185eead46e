"""FP32's exponent to FP16's.

Ref: ttsim v1.10.0, for what tt-isa-documentation 3930471 calls FP32ToFP16 and leaves undefined.
"""

from amaranth import Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP16, FP32
from bitpath.rtl.tensix.unpack.float_word import FloatWord

REBIAS = FP32.bias - FP16.bias


class NarrowExponent(wiring.Component):
    """A float with 8 exponent bits as one with 5; its fraction keeps its length. Combinational.

    What is too large gets all ones, what is too small a zero of its sign. A number below the range by less than a binade
    keeps its fraction under a zero exponent.

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
        # REBIAS is less than 2**exponent_bits, so the difference needs no more than a sign.
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
