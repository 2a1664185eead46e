"""Alignment shift of significands to a common grid."""

from enum import Enum

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.formats.catalogue import Rounding
from bitpath.rtl.common.arithmetic.round import increment
from bitpath.rtl.common.config import require_range

# Largest of several exponents, and the distance of each exponent to it.


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


# Largest of several unsigned exponents.


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


class Dropped(Enum):
    """Treatment of the bits below the grid."""

    STICKY = "sticky"  # their OR is appended as one more bit at the bottom
    TRUNCATED = "truncated"  # they are discarded without a trace
    NEAREST_EVEN = "nearest_even"  # they round the kept bits to nearest even

    @classmethod
    def of(cls, rounding: Rounding) -> "Dropped":
        """Return the member for the rounding mode RTZ or RNE."""
        return {Rounding.RTZ: cls.TRUNCATED, Rounding.RNE: cls.NEAREST_EVEN}[rounding]


def shift_of(distance: Value, bits: int) -> Value:
    """Saturate a distance between exponents to a shift of ``bits`` bits."""
    return distance[:bits] | distance[bits:].any().replicate(bits)


class Align(wiring.Component):
    """Combinational right shift from the top of the grid, with ``ceil_log2(max_shift + 1)`` levels::

        i         |in_width bits|
        o         |<- shift ->|in_width bits   |    out_width bits; lower bits by ``dropped``

    Parameters
    ----------
    in_width, out_width : bits of the significand and of the grid; their top bits align with shift 0.
    max_shift : largest shift.
    dropped : treatment of bits below the grid.
    twos_complement : True takes signed numbers, which discarded bits round down; False takes magnitudes. Must be False
        with NEAREST_EVEN.

    Members
    -------
    i : In(in_width)
    shift : In(range(max_shift + 1))
    o : Out(out_width), one bit more below with STICKY, one more above with NEAREST_EVEN
    """

    clocked = False

    def __init__(
        self, in_width: int, out_width: int, max_shift: int, dropped: Dropped, *, twos_complement: bool = False
    ):
        if twos_complement and dropped is Dropped.NEAREST_EVEN:
            raise ValueError("align: twos_complement must be False with NEAREST_EVEN, not True")
        self.in_width, self.out_width, self.max_shift, self.dropped = in_width, out_width, max_shift, dropped
        self.twos_complement = twos_complement
        number = signed if twos_complement else unsigned
        extra = dropped in (Dropped.STICKY, Dropped.NEAREST_EVEN)
        super().__init__(
            {"i": In(number(in_width)), "shift": In(range(max_shift + 1)), "o": Out(number(out_width + extra))}
        )

    def elaborate(self, platform):
        m = Module()
        # Below the grid: a guard bit with NEAREST_EVEN, and a sticky bit for all lower bits.
        below = 1 if self.dropped is Dropped.NEAREST_EVEN else 0
        width = self.out_width + below
        pad = width - self.in_width
        number = signed(width) if self.twos_complement else unsigned(width)
        value = Signal(number)
        m.d.comb += value.eq(Cat(Const(0, pad), self.i) if pad >= 0 else self.i[-pad:])
        sticky = self.i[: max(0, -pad)].any()
        for level in range(ceil_log2(self.max_shift + 1)):
            amount = min(1 << level, width)
            take = self.shift[level]
            shifted = Signal(number, name=f"shifted_{level}")
            lost = Signal(name=f"lost_{level}")
            m.d.comb += [
                shifted.eq(Mux(take, value >> amount, value)),
                lost.eq(sticky | (take & value[:amount].any())),
            ]
            value, sticky = shifted, lost
        match self.dropped:
            case Dropped.TRUNCATED:
                m.d.comb += self.o.eq(value)
            case Dropped.STICKY:
                m.d.comb += self.o.eq(Cat(sticky, value))
            case Dropped.NEAREST_EVEN:
                guard, kept = value[0], value[1:]
                up = increment(Rounding.RNE, odd=kept[0], guard=guard, sticky=sticky, negative=Const(0))
                m.d.comb += self.o.eq(kept + up)
        return m
