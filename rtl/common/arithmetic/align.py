"""Alignment shift of significands to a common grid."""

from enum import Enum

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.formats.rounding import Rounding
from bitpath.rtl.common.arithmetic.round_increment import increment


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
