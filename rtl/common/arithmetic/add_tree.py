"""Exact sum of signed terms, as a balanced tree of adders."""

from amaranth import Cat, Module, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2


class AddTree(wiring.Component):
    """Combinational exact sum ``o = sum((-1)**sign[k] * (magnitude[k] + up[k]))``.

    Parameters
    ----------
    terms, width : number of magnitudes, and bits of each.

    Members
    -------
    magnitude : In(ArrayLayout(width, terms))
    up : In(terms), rounding increments; ``magnitude[k] + up[k]`` must fit ``width`` bits
    sign : In(terms)
    o : Out(signed(width + ceil_log2(terms) + 1))
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
            # -(x + up) = ~x + 1 - up. A sign bit of weight -2**width equals its complement at weight 2**width, less
            # 2**width, which is subtracted for all terms at the end. So no term is sign-extended.
            inverted = self.magnitude[k] ^ sign.replicate(self.width)
            sums.append(Cat(inverted, ~sign) + (sign ^ self.up[k]))
        while len(sums) > 1:
            pairs = [a + b for a, b in zip(sums[::2], sums[1::2], strict=False)]
            sums = pairs + sums[2 * len(pairs) :]
        m.d.comb += self.o.eq(sums[0] - (self.terms << self.width))
        return m
