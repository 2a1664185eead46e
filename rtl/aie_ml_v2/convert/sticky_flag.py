"""Sticky status flag with set priority over clear."""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class StickyFlag(wiring.Component):
    """Flag ``o`` is set one cycle after ``occurs`` and cleared one cycle after ``clear``; set has priority; its reset value is 0.

    Members
    -------
    occurs : In(1)
    clear : In(1)
    o : Out(1)
    """

    occurs: In(1)
    clear: In(1)
    o: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.occurs | (self.o & ~self.clear))
        return m
