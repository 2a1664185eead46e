"""Signed terms to their exact sum."""

from amaranth import Cat, Module, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2


class AddTree(wiring.Component):
    """``o = sum((-1)**sign[k] * (magnitude[k] + up[k]))``, exactly, as a balanced tree. Combinational.

    Parameters
    ----------
    terms, width : how many magnitudes, and their bits.

    Members
    -------
    magnitude : In(ArrayLayout(width, terms))
    up : In(terms), what rounding adds, if anything; a magnitude with it must fit ``width`` bits
    sign : In(terms)
    o : Out(signed), wide enough for ``terms`` equal extremes
    """

    def __init__(self, terms: int, width: int):
        self.terms, self.width = terms, width
        # |sum| <= terms * (2**width - 1) < 2**(width + ceil_log2(terms)), and a sign bit.
        shape = signed(width + ceil_log2(terms) + 1)
        super().__init__(
            {
                "magnitude": In(data.ArrayLayout(width, terms)),
                "up": In(terms),
                "sign": In(terms),
                "o": Out(shape),
            }
        )

    def elaborate(self, platform):
        m = Module()
        sums = []
        for k in range(self.terms):
            sign = self.sign[k]
            # -(x + up) is ~x + 1 - up. The sign bit, of weight -2**width, is added as its complement of weight 2**width,
            # less 2**width for every term at the end: no term is extended to the width of the sum.
            flipped = self.magnitude[k] ^ sign.replicate(self.width)
            sums.append(Cat(flipped, ~sign) + (sign ^ self.up[k]))
        while len(sums) > 1:
            pairs = [a + b for a, b in zip(sums[::2], sums[1::2], strict=False)]
            sums = pairs + sums[2 * len(pairs) :]
        m.d.comb += self.o.eq(sums[0] - (self.terms << self.width))
        return m
