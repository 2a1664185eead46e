"""Largest of several exponents, and the distance of each exponent to it."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.common.config import require_range

WORD_BITS = 64
"""Bits that a simulator handles in one operation."""


class MaxDistance(wiring.Component):
    """Combinational ``o = max(i[k] if counts[k])`` and ``shifts[k] = o - i[k]``, saturated to ``shift_bits``.

    The maximum is found bit by bit from the top: an exponent with a 1 beats the remaining ones with a 0. The bits above a
    shift then need no subtraction: the distance fits if they equal the maximum's, or are one less and the low bits
    borrow. This takes fewer gates than a tree of comparators with subtractors behind it.

    Parameters
    ----------
    terms, width : number of exponents, and bits of each.
    shift_bits : bits of a shift, 1 to ``width - 1``; larger distances saturate to all ones.

    Members
    -------
    i : In(ArrayLayout(width, terms))
    counts : In(terms), excludes an exponent if 0
    o : Out(width), 0 if no exponent counts
    shifts : Out(ArrayLayout(shift_bits, terms)), undefined for an excluded exponent
    """

    clocked = False

    def __init__(self, terms: int, width: int, shift_bits: int):
        require_range("max_distance", "shift_bits", shift_bits, 1, width - 1)
        self.terms, self.width, self.shift_bits = terms, width, shift_bits
        super().__init__(
            {
                "i": In(data.ArrayLayout(width, terms)),
                "counts": In(terms),
                "o": Out(width),
                "shifts": Out(data.ArrayLayout(shift_bits, terms)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        width, lanes = self.width, WORD_BITS // self.width
        exponents = self.i.as_value()
        words = [exponents[start : start + lanes * width] for start in range(0, len(exponents), lanes * width)]
        # A mask with the lowest bit of each remaining exponent compares all exponents of a word at once.
        left = [
            Cat(Cat(count, Const(0, width - 1)) for count in self.counts[w * lanes :][:lanes])
            for w in range(len(words))
        ]
        largest = []
        for bit in reversed(range(width)):
            if bit == self.shift_bits - 1:
                same = [word[place] for word in left for place in range(0, len(word), width)]
            one = Signal(name=f"one_{bit}")
            winners = [Signal(len(word), name=f"winners_{bit}") for word in words]
            next_left = [Signal(len(word), name=f"left_{bit}") for word in words]
            for word, was, won, stays in zip(words, left, winners, next_left, strict=True):
                m.d.comb += [won.eq(word[bit:] & was), stays.eq(Mux(one, won, was))]
            m.d.comb += one.eq(Cat(won.any() for won in winners).any())
            left = next_left
            largest.insert(0, one)
        low, upper = Cat(largest[: self.shift_bits]), Cat(largest[self.shift_bits :])
        next_lower = Signal(len(upper))
        m.d.comb += [self.o.eq(Cat(low, upper)), next_lower.eq(upper - 1)]
        for k in range(self.terms):
            difference = Signal(self.shift_bits + 1, name=f"difference_{k}")
            far = Signal(name=f"far_{k}")
            borrow = difference[-1]
            m.d.comb += [
                difference.eq(low - self.i[k][: self.shift_bits]),
                far.eq(~(same[k] | (borrow & (self.i[k][self.shift_bits :] == next_lower)))),
                self.shifts[k].eq(difference[: self.shift_bits] | far.replicate(self.shift_bits)),
            ]
        return m
