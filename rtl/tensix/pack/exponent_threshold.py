"""Exponent threshold of the packer, behind ReLU: ``o = i if exponent >= threshold else +0``.

Ref: tt-isa-documentation 3930471, Packers/ExponentThresholding.
"""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.tensix.unpack.float_word import FloatWord
from bitpath.rtl.tensix.unpack.layouts import EXPONENT_BITS


class ExponentThreshold(wiring.Component):
    """An intermediate float, or +0 if its biased exponent is below the threshold.

    A 5-bit exponent is compared as it is. Threshold 0 passes all values, and integers require it. Combinational: latency 0.

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
