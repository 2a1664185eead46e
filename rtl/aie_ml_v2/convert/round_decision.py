"""The ten rounding codes of crRnd: the one place that decides whether what was dropped rounds up what was kept.

Ref: UG1583 and llvm-aie for the codes; all ten are measured on first-generation silicon for FP32 to BF16.
"""

from amaranth import Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.rtl.aie_ml_v2.convert.layouts import ROUNDING_BITS


class RoundDecision(wiring.Component):
    """Whether a number goes to ``kept + 1`` instead of ``kept``, by a code that is chosen at run time. Combinational.

    Each code has a side that it prefers: the directed ones (0 to 3) go there from everything between the two integers, the
    nearest ones (8 to 13) from half-way only. Reserved codes give decisions without meaning.

    Parameters
    ----------
    twos_complement : whether what was kept is a signed number rounded down, else a magnitude rounded towards zero: the
        next one is then farther from zero only where the number is positive, else always, and above it always, else only
        where the number is positive.

    Members
    -------
    rounding : In(4), of RoundingCode
    negative : In(1), the sign of the number
    odd : In(1), the lowest bit kept
    guard, sticky : In(1), the highest bit dropped, and the OR of those below it
    up : Out(1)
    """

    clocked = False

    def __init__(self, twos_complement: bool):
        self.twos_complement = twos_complement
        super().__init__(
            {
                "rounding": In(ROUNDING_BITS),
                "negative": In(1),
                "odd": In(1),
                "guard": In(1),
                "sticky": In(1),
                "up": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        above = Const(1) if self.twos_complement else ~self.negative
        outward = ~self.negative if self.twos_complement else Const(1)
        preferred = Signal()
        with m.Switch(self.rounding):
            with m.Case(RoundingCode.FLOOR, RoundingCode.NEGATIVE_INF):
                m.d.comb += preferred.eq(~above)
            with m.Case(RoundingCode.CEIL, RoundingCode.POSITIVE_INF):
                m.d.comb += preferred.eq(above)
            with m.Case(RoundingCode.SYMMETRIC_FLOOR, RoundingCode.SYMMETRIC_ZERO):
                m.d.comb += preferred.eq(~outward)
            with m.Case(RoundingCode.SYMMETRIC_CEIL, RoundingCode.SYMMETRIC_INF):
                m.d.comb += preferred.eq(outward)
            with m.Case(RoundingCode.CONV_EVEN):
                m.d.comb += preferred.eq(self.odd)
            with m.Case(RoundingCode.CONV_ODD):
                m.d.comb += preferred.eq(~self.odd)
        nearest = self.rounding[-1]
        m.d.comb += self.up.eq(
            Mux(nearest, self.guard & (self.sticky | preferred), (self.guard | self.sticky) & preferred)
        )
        return m
