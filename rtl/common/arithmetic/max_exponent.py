"""Largest of several unsigned exponents."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out


class MaxExponent(wiring.Component):
    """Combinational ``o = max(i)`` of unsigned exponents, as a balanced tree of comparators.

    Parameters
    ----------
    terms, width : number of exponents, and bits of each.

    Members
    -------
    i : In(ArrayLayout(width, terms))
    o : Out(width)
    """

    clocked = False

    def __init__(self, terms: int, width: int):
        self.terms, self.width = terms, width
        super().__init__({"i": In(data.ArrayLayout(width, terms)), "o": Out(width)})

    def elaborate(self, platform):
        m = Module()
        level = [self.i[k] for k in range(self.terms)]
        while len(level) > 1:
            winners = []
            for a, b in zip(level[::2], level[1::2], strict=False):
                winner = Signal(self.width, name="larger")
                m.d.comb += winner.eq(Mux(a > b, a, b))
                winners.append(winner)
            level = winners + level[2 * len(winners) :]
        m.d.comb += self.o.eq(level[0])
        return m
