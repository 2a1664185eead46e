"""The roundings of what the third step of the Tensix dot product adds, without their additions.

Ref: ttsim v1.10.0; tt-metal #46101 for the second rounding of a 16-bit Dst.
"""

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.numerics import Tie
from bitpath.rtl.common.arithmetic.nearest import rounds_up, tie_goes_up

NARROW_DROPPED = 13
"""Fraction bits that the second rounding of a 16-bit Dst drops: 10 of 23 stay."""


class RoundAddend(wiring.Component):
    """``o + once + (twice << 13)`` is an aligned number, rounded; a magnitude with the number's sign. Combinational.

    The second rounding, for a 16-bit Dst, adds half its unit to what the first one gave, or what is just less than half
    where a tie goes down. Neither is carried out here: the adder that follows adds both steps.

    Parameters
    ----------
    width : bits that are kept.
    tie : of both roundings.
    pre_round : whether there is a second one.
    twos_complement : whether ``i`` is a signed number rounded down, else a magnitude.

    Members
    -------
    i : In(width + 2), what is kept above a guard and a sticky bit
    negative : In(1), the number's sign
    dst32 : In(1), no second rounding
    o : Out(width), a negative number's magnitude inverted
    once, twice : Out(1)
    """

    clocked = False

    def __init__(self, width: int, tie: Tie, pre_round: bool, twos_complement: bool):
        self.width, self.tie, self.pre_round, self.twos_complement = width, tie, pre_round, twos_complement
        super().__init__(
            {
                "i": In(width + 2),
                "negative": In(1),
                "dst32": In(1),
                "o": Out(width),
                "once": Out(1),
                "twice": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        sticky, guard, kept = self.i[0], self.i[1], self.i[2:]
        number = {"negative": self.negative, "twos_complement": self.twos_complement}
        up = Signal()
        m.d.comb += up.eq(rounds_up(self.tie, odd=kept[0], guard=guard, sticky=sticky, **number))
        # -(x + up) is ~x + 1 - up, whatever the place of up; a signed number is added as it is.
        inverted = Const(0) if self.twos_complement else self.negative
        value = kept ^ inverted.replicate(self.width)
        if not self.pre_round:
            m.d.comb += [self.o.eq(value), self.once.eq(up ^ inverted)]
            return m

        # What is dropped now, and the step before, are compared with half a unit: the top bit of what is dropped.
        dropped, odd = kept[: NARROW_DROPPED - 1], kept[NARROW_DROPPED]
        half = kept[NARROW_DROPPED - 1]
        tie_up = tie_goes_up(self.tie, odd=odd, **number)
        up_again = Signal()
        m.d.comb += [
            up_again.eq((half & (dropped.any() | up | tie_up)) | (dropped.all() & up & tie_up)),
            self.o.eq(Cat(value[:NARROW_DROPPED] & self.dst32.replicate(NARROW_DROPPED), value[NARROW_DROPPED:])),
            self.once.eq(self.dst32 & (up ^ inverted)),
            self.twice.eq(~self.dst32 & (up_again ^ inverted)),
        ]
        return m
