"""Rounding of one addend of `DstAdd`: kept bits and increments, without the additions.

``rounded = o + once + (twice << 13)``::

                 width - 1 ... 13 | 12 ............ 0 | guard | sticky
      32-bit Dst       kept       |       kept        |   first rounding adds ``once`` at bit 0
      16-bit Dst       kept       |  half, discarded  |   second rounding adds ``twice`` at bit 13; ``o`` has zeros below

Ref: ttsim v1.10.0; tt-metal #46101 for the second rounding of a 16-bit Dst.
"""

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.rounding import Rounding
from bitpath.rtl.common.arithmetic.round_increment import goes_up, increment

NARROW_DROPPED = 13
"""Fraction bits that the second rounding discards: 10 of 23 are kept."""


class RoundAddend(wiring.Component):
    """The rounding increments of an aligned addend; the adder behind it applies them.

    The second rounding rounds the result of the first one. Its increment compares the discarded bits and the first increment
    with half a unit, so that neither addition is carried out here. Combinational: latency 0.

    Parameters
    ----------
    width : number of kept bits.
    tie : mode of both roundings.
    pre_round : True adds the second rounding, for a 16-bit Dst.
    twos_complement : True if ``i`` is a signed number rounded down, False if it is a magnitude.

    Members
    -------
    i : In(width + 2), kept bits, guard bit, sticky bit
    negative : In(1), sign of the addend
    dst32 : In(1), no second rounding
    o : Out(width), kept bits; a negative magnitude is inverted
    once, twice : Out(1), increments at bit 0 and at bit 13
    """

    clocked = False

    def __init__(self, width: int, tie: Rounding, pre_round: bool, twos_complement: bool):
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
        m.d.comb += up.eq(increment(self.tie, odd=kept[0], guard=guard, sticky=sticky, **number))
        # -(x + up) = ~x + (1 - up), at the weight of either increment; a signed number is not inverted.
        inverted = Const(0) if self.twos_complement else self.negative
        value = kept ^ inverted.replicate(self.width)
        if not self.pre_round:
            m.d.comb += [self.o.eq(value), self.once.eq(up ^ inverted)]
            return m

        # Discarded bits plus the first increment against half a unit, the highest discarded bit.
        dropped, odd = kept[: NARROW_DROPPED - 1], kept[NARROW_DROPPED]
        half = kept[NARROW_DROPPED - 1]
        tie_up = goes_up(self.tie, odd=odd, **number)
        up_again = Signal()
        m.d.comb += [
            up_again.eq((half & (dropped.any() | up | tie_up)) | (dropped.all() & up & tie_up)),
            self.o.eq(Cat(value[:NARROW_DROPPED] & self.dst32.replicate(NARROW_DROPPED), value[NARROW_DROPPED:])),
            self.once.eq(self.dst32 & (up ^ inverted)),
            self.twice.eq(~self.dst32 & (up_again ^ inverted)),
        ]
        return m
