"""A flag that stays."""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class StickyFlag(wiring.Component):
    """Set a cycle after ``event``, and cleared by ``clear``; an event in the cycle of ``clear`` wins.

    Members
    -------
    event : In(1)
    clear : In(1)
    o : Out(1)
    """

    event: In(1)
    clear: In(1)
    o: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.event | (self.o & ~self.clear))
        return m
