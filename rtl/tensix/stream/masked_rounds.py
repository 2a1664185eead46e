"""Template 0 of the MOP expander: rounds of up to five words, or of skip words where the mask has a 1.

Ref: tt-isa-documentation 3930471, MOPExpander, ExpandTemplate0.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.streams import MASK_BITS
from bitpath.rtl.tensix.stream.mop_state import MOP_STATE, PLACE_BITS


class RoundStep(enum.Enum, shape=3):
    """Words of a round: A0 or its skip word, A1 to A3, B or its skip word."""

    A0 = 0
    A1 = 1
    A2 = 2
    A3 = 3
    B = 4


PLACES = {RoundStep.A0: 3, RoundStep.A1: 4, RoundStep.A2: 5, RoundStep.A3: 6, RoundStep.B: 2}
"""Number of the configuration word of each step."""
SKIP_PLACES = {RoundStep.A0: 7, RoundStep.B: 8}


class MaskedRounds(wiring.Component):
    """Combinational: which word stands at a state, and the state behind it.

    Members
    -------
    state : In(MOP_STATE)
    has_b, has_a123 : In(1), flags
    mask : In(32); rounds beyond its bits find 0
    count_minus_1 : In(7)
    place : Out(4), number of the configuration word
    last : Out(1), no word stands behind it
    following : Out(MOP_STATE)
    """

    clocked = False

    state: In(MOP_STATE)
    has_b: In(1)
    has_a123: In(1)
    mask: In(MASK_BITS)
    count_minus_1: In(7)
    place: Out(PLACE_BITS)
    last: Out(1)
    following: Out(MOP_STATE)

    def elaborate(self, platform):
        m = Module()
        state = self.state
        skips = Signal()
        ends = Signal()
        behind = Signal(RoundStep)
        m.d.comb += skips.eq(self.mask.bit_select(state.round, 1))
        with m.Switch(state.step):
            for step, place in PLACES.items():
                with m.Case(step):
                    skip_place = SKIP_PLACES.get(step, place)
                    m.d.comb += self.place.eq(place if skip_place == place else Mux(skips, skip_place, place))
        with m.If((state.step == RoundStep.A0) & self.has_a123 & ~skips):
            m.d.comb += behind.eq(RoundStep.A1)
        with m.Elif(state.step == RoundStep.A1):
            m.d.comb += behind.eq(RoundStep.A2)
        with m.Elif(state.step == RoundStep.A2):
            m.d.comb += behind.eq(RoundStep.A3)
        with m.Elif((state.step != RoundStep.B) & self.has_b):
            m.d.comb += behind.eq(RoundStep.B)
        with m.Else():
            m.d.comb += ends.eq(1)
        m.d.comb += [
            self.last.eq(ends & (state.round == self.count_minus_1)),
            self.following.round.eq(state.round + ends),
            self.following.inner.eq(0),
            self.following.step.eq(behind),
        ]
        return m
