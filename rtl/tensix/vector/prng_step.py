"""One step of a lane's random numbers::

    o = i >> 1, bit 31 = not (i[31] ^ i[21] ^ i[1] ^ i[0])

Ref: tt-isa-documentation, VectorUnit.
"""

from amaranth import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.tensix.vector.layouts import LANE_BITS

TAPS = (0, 1, 21, 31)
"""Bits of the state that are added."""


class PrngStep(wiring.Component):
    """The state that follows a state. A state of all ones follows itself. Combinational: latency 0.

    Members
    -------
    i : In(32)
    o : Out(32)
    """

    clocked = False
    i: In(LANE_BITS)
    o: Out(LANE_BITS)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.o.eq(Cat(self.i[1:], ~Cat(self.i[tap] for tap in TAPS).xor()))
        return m
