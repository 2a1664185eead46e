"""Significands onto a common grid."""

from enum import Enum

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.formats.rounding import Rounding
from bitpath.rtl.common.arithmetic.round_increment import increment


class Dropped(Enum):
    """What becomes of the bits that fall below the grid."""

    STICKY = "sticky"  # their OR is one more bit at the bottom
    TRUNCATED = "truncated"  # they are gone
    NEAREST_EVEN = "nearest_even"  # they round what is left

    @classmethod
    def of(cls, rounding: Rounding) -> "Dropped":
        """The member that rounds as ``rounding`` (RTZ or RNE) says."""
        return {Rounding.RTZ: cls.TRUNCATED, Rounding.RNE: cls.NEAREST_EVEN}[rounding]


def shift_of(distance: Value, bits: int) -> Value:
    """A distance between exponents as a shift of so many bits: the largest where it does not fit."""
    return distance[:bits] | distance[bits:].any().replicate(bits)


class Align(wiring.Component):
    """``o = i >> shift`` from the top: bit ``in_width - 1`` of ``i`` lands ``shift`` places below bit ``out_width - 1``.

    Combinational; a shifter of ``ceil_log2(max_shift + 1)`` levels.

    Parameters
    ----------
    in_width, out_width : bits of the significand, and of the grid under its highest place.
    max_shift : largest shift that is asked for.
    dropped : what becomes of bits below the grid.
    twos_complement : whether ``i`` and ``o`` are signed numbers, rounded down by what is dropped, else magnitudes;
        not with NEAREST_EVEN.

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
            raise ValueError("align: a signed number is not rounded to nearest here")
        self.in_width, self.out_width, self.max_shift, self.dropped = in_width, out_width, max_shift, dropped
        self.twos_complement = twos_complement
        number = signed if twos_complement else unsigned
        extra = dropped in (Dropped.STICKY, Dropped.NEAREST_EVEN)
        super().__init__(
            {"i": In(number(in_width)), "shift": In(range(max_shift + 1)), "o": Out(number(out_width + extra))}
        )

    def elaborate(self, platform):
        m = Module()
        # Below the grid: one guard bit where it rounds, and a sticky bit for the rest.
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
