"""Rounding increment: whether a rounded number is one unit in the last place above its kept bits.

::

    kept bits ... odd | guard | sticky        rounded = kept + increment
                      |<- discarded ->|

    to nearest     increment = guard & (sticky | goes_up)      goes_up decides ties
    directed       increment = (guard | sticky) & goes_up      goes_up decides everything between two integers

    mode           goes_up of a magnitude      goes_up of a two's complement number
    RNE            odd                         odd
    RNO            ~odd                        ~odd
    RNA, RTA       1                           ~negative
    RNZ, RTZ       0                           negative
    RNU, RTU       ~negative                   1
    RND, RTD       negative                    0

The kept bits of a magnitude are rounded toward zero, those of a two's complement number down. The mode is a member of
`Rounding` at build time (the functions), or a signal at run time (`RoundIncrement`). All are combinational. Stochastic
rounding adds its random bits below the kept bits instead, and needs no increment.

Arguments of the functions, 1 bit each, as the ports of `RoundIncrement`:

    odd        lowest kept bit
    guard      highest discarded bit
    sticky     OR of the bits below the guard bit
    negative   sign of the number
"""

from enum import IntEnum

from amaranth import Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from bitpath.golden.formats.rounding import Rounding

PAIRS = (
    (Rounding.RTD, Rounding.RND),
    (Rounding.RTU, Rounding.RNU),
    (Rounding.RTZ, Rounding.RNZ),
    (Rounding.RTA, Rounding.RNA),
    (Rounding.RNE,),
    (Rounding.RNO,),
)
"""Modes that share ``goes_up``."""


def goes_up(mode: Rounding, *, odd: Value, negative: Value, twos_complement: bool = False) -> Value:
    """Return 1 if `mode` prefers the next integer above the kept bits, as in the table."""
    above = Const(1) if twos_complement else ~negative
    away = ~negative if twos_complement else Const(1)
    match mode:
        case Rounding.RNE:
            return odd
        case Rounding.RNO:
            return ~odd
        case Rounding.RNA | Rounding.RTA:
            return away
        case Rounding.RNZ | Rounding.RTZ:
            return ~away
        case Rounding.RNU | Rounding.RTU:
            return above
        case Rounding.RND | Rounding.RTD:
            return ~above
    raise ValueError(f"mode must not be {mode.name}")


def increment(
    mode: Rounding, *, odd: Value, guard: Value, sticky: Value, negative: Value, twos_complement: bool = False
) -> Value:
    """The increment of kept bits; `twos_complement` says which column of the table they follow."""
    if mode is Rounding.RTZ and not twos_complement:
        return Const(0)
    up = goes_up(mode, odd=odd, negative=negative, twos_complement=twos_complement)
    return guard & (sticky | up) if mode.to_nearest else (guard | sticky) & up


def increment_inverted(mode: Rounding, *, odd: Value, guard: Value, sticky: Value, negative: Value) -> Value:
    """The increment of a magnitude whose kept and guard bits are inverted where it is negative.

    The ones' complement is the magnitude less one unit of its lowest place. That unit and the rounding are one increment:
    where ``sticky`` is 0 all bits below the guard bit are 1, and the unit carries into it.

    Parameters
    ----------
    odd, guard : of the ones' complement.
    sticky : of the magnitude itself.
    """
    more = negative & ~sticky
    carried = guard & more
    if mode is Rounding.RTZ:
        return carried
    return carried | increment(mode, odd=odd, guard=guard ^ more, sticky=sticky, negative=negative)


class RoundIncrement(wiring.Component):
    """The increment by a mode that is chosen at run time.

    Parameters
    ----------
    codes : codes of ``mode``. A member's attribute ``mode`` is its Rounding; the highest bit is 1 in those that round to
        nearest. Increments of reserved codes have no meaning.
    twos_complement : as of `increment`.

    Members
    -------
    mode : In(bits of the largest code)
    negative, odd, guard, sticky : In(1)
    up : Out(1), the increment
    """

    clocked = False

    def __init__(self, codes: type[IntEnum], twos_complement: bool):
        self.codes, self.twos_complement = codes, twos_complement
        bits = {"negative": In(1), "odd": In(1), "guard": In(1), "sticky": In(1), "up": Out(1)}
        super().__init__({"mode": In(bits_for(max(codes))), **bits})

    def elaborate(self, platform):
        m = Module()
        preferred = Signal()
        with m.Switch(self.mode):
            for pair in PAIRS:
                with m.Case(*(code for code in self.codes if code.mode in pair)):
                    up = goes_up(pair[0], odd=self.odd, negative=self.negative, twos_complement=self.twos_complement)
                    m.d.comb += preferred.eq(up)
        to_nearest = self.mode[-1]
        m.d.comb += self.up.eq(
            Mux(to_nearest, self.guard & (self.sticky | preferred), (self.guard | self.sticky) & preferred)
        )
        return m
