"""Signed terms to their exact sum."""

from amaranth import Module, Mux, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2


class AddTree(wiring.Component):
    """``o = sum((-1)**sign[k] * magnitude[k])``, exactly, as a balanced tree. Combinational.

    Parameters
    ----------
    terms, width : how many magnitudes, and their bits.

    Members
    -------
    magnitude : In(ArrayLayout(width, terms))
    sign : In(terms)
    o : Out(signed), wide enough for ``terms`` equal extremes
    """

    def __init__(self, terms: int, width: int):
        self.terms = terms
        # |sum| <= terms * (2**width - 1) < 2**(width + ceil_log2(terms)), and a sign bit.
        shape = signed(width + ceil_log2(terms) + 1)
        super().__init__({"magnitude": In(data.ArrayLayout(width, terms)), "sign": In(terms), "o": Out(shape)})

    def elaborate(self, platform):
        m = Module()
        sums = [Mux(self.sign[k], -self.magnitude[k], self.magnitude[k]) for k in range(self.terms)]
        while len(sums) > 1:
            pairs = [a + b for a, b in zip(sums[::2], sums[1::2], strict=False)]
            sums = pairs + sums[2 * len(pairs) :]
        m.d.comb += self.o.eq(sums[0])
        return m
