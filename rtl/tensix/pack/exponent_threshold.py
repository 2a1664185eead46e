"""The packer's exponent threshold, behind ReLU. Ref: tt-isa-documentation 3930471, Packers/ExponentThresholding."""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.tensix.unpack.float_word import FloatWord
from bitpath.rtl.tensix.unpack.layouts import EXPONENT_BITS


class ExponentThreshold(wiring.Component):
    """An intermediate float, or +0 where its biased exponent is below the threshold. Combinational.

    An exponent of 5 bits is compared as it is. A threshold of 0 changes nothing, and integers have no other.

    Members
    -------
    i : In(FloatWord)
    threshold : In(8)
    o : Out(FloatWord)
    """

    clocked = False
    i: In(FloatWord)
    threshold: In(EXPONENT_BITS)
    o: Out(FloatWord)

    def elaborate(self, platform):
        m = Module()
        with m.If(self.i.exponent >= self.threshold):
            m.d.comb += self.o.eq(self.i)
        return m
