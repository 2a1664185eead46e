"""The largest of several exponents, and how far the others are below it."""

from amaranth import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out


class MaxDistance(wiring.Component):
    """``o`` is the largest of the exponents that count, and ``shifts[k] = o - i[k]``, saturated. Combinational.

    Bit by bit from the top: a 1 wins over the 0 of others that are still equal to the maximum. The bits above those of a
    shift then need no subtraction: a distance fits a shift where they are equal, or where they are one less and the low
    bits borrow it. This is smaller than a tree of comparisons with subtractions behind it.

    Parameters
    ----------
    terms, width : how many exponents, and their bits.
    shift_bits : of a shift, fewer than ``width``; the largest where the distance does not fit.

    Members
    -------
    i : In(ArrayLayout(width, terms)), counts : In(terms)
    o : Out(width), 0 where nothing counts
    shifts : Out(ArrayLayout(shift_bits, terms)), of what does not count anything
    """

    clocked = False

    def __init__(self, terms: int, width: int, shift_bits: int):
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
        left, largest = self.counts, []
        for bit in reversed(range(self.width)):
            if bit == self.shift_bits - 1:
                same = left
            ones = Signal(self.terms, name=f"ones_{bit}")
            at_maximum = Signal(self.terms, name=f"at_maximum_{bit}")
            one = Signal(name=f"one_{bit}")
            m.d.comb += [
                ones.eq(Cat(self.i[k][bit] for k in range(self.terms))),
                one.eq((left & ones).any()),
                at_maximum.eq(left & (ones | (~one).replicate(self.terms))),
            ]
            left = at_maximum
            largest.insert(0, one)
        low, upper = Cat(largest[: self.shift_bits]), Cat(largest[self.shift_bits :])
        next_lower = Signal(len(upper))
        m.d.comb += [self.o.eq(Cat(low, upper)), next_lower.eq(upper - 1)]
        for k in range(self.terms):
            difference = Signal(self.shift_bits + 1, name=f"difference_{k}")
            near = Signal(name=f"near_{k}")
            borrow = difference[-1]
            m.d.comb += [
                difference.eq(low - self.i[k][: self.shift_bits]),
                near.eq(same[k] | (borrow & (self.i[k][self.shift_bits :] == next_lower))),
                self.shifts[k].eq(difference[: self.shift_bits] | (~near).replicate(self.shift_bits)),
            ]
        return m
