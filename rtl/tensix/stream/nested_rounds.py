"""Template 1 of the MOP expander: two nested loops, whose last inner word is replaced.

Ref: tt-isa-documentation 3930471, MOPExpander, ExpandTemplate1.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.streams import EXTRA_ROUNDS
from bitpath.rtl.tensix.stream.mop_state import INNER_BITS, MOP_STATE, PLACE_BITS, ROUND_BITS


class LoopStep(enum.Enum, shape=3):
    """Words of an outer round. A round is first at FIRST, which stands for the first word that it has."""

    FIRST = 0
    START = 1
    LOOP = 2
    END_0 = 3
    END_1 = 4


class NestedRounds(wiring.Component):
    """Combinational: which word stands at a state, and the state behind it.

    Members
    -------
    state : In(MOP_STATE)
    outer_count, inner_count : In(7)
    has_start, has_end_0, has_end_1, has_alternative : In(1), their words are no NOPs
    place : Out(4), number of the configuration word
    empty : Out(1), the expansion has no words
    last : Out(1), no word stands behind it
    following : Out(MOP_STATE)
    """

    clocked = False

    state: In(MOP_STATE)
    outer_count: In(7)
    inner_count: In(7)
    has_start: In(1)
    has_end_0: In(1)
    has_end_1: In(1)
    has_alternative: In(1)
    place: Out(PLACE_BITS)
    empty: Out(1)
    last: Out(1)
    following: Out(MOP_STATE)

    def elaborate(self, platform):
        m = Module()
        state, following = self.state, self.following
        has_loop = Signal()
        step = Signal(LoopStep)
        ends = Signal()
        last_inner = Signal()
        last_outer = Signal()
        rounds = Signal(ROUND_BITS)
        inner_rounds = Signal(INNER_BITS)
        only_ends = ~self.has_start & ~has_loop & self.has_end_0
        m.d.comb += [
            has_loop.eq(self.inner_count != 0),
            inner_rounds.eq(Mux(self.has_alternative, self.inner_count << 1, self.inner_count)),
            # The hardware's bug: a single round with nothing but ends is done 129 times.
            rounds.eq(Mux((self.outer_count == 1) & only_ends, EXTRA_ROUNDS + 1, self.outer_count)),
            last_inner.eq(state.inner + 1 == inner_rounds),
            last_outer.eq(state.round + 1 == rounds),
            self.empty.eq((self.outer_count == 0) | ~Cat(self.has_start, has_loop, self.has_end_0).any()),
            step.eq(state.step),
            self.last.eq(ends & last_outer),
            following.round.eq(state.round + ends),
        ]
        with m.If(state.step == LoopStep.FIRST):
            m.d.comb += step.eq(Mux(self.has_start, LoopStep.START, Mux(has_loop, LoopStep.LOOP, LoopStep.END_0)))
        with m.Switch(step):
            with m.Case(LoopStep.START):
                m.d.comb += self.place.eq(2)
                self._go_on(m, (has_loop, LoopStep.LOOP), (self.has_end_0, LoopStep.END_0), ends=ends)
            with m.Case(LoopStep.LOOP):
                replaced = Mux(last_outer, 7, 8)
                turn = Mux(self.has_alternative & state.inner[0], 6, 5)
                m.d.comb += self.place.eq(Mux(last_inner, replaced, turn))
                with m.If(~last_inner):
                    m.d.comb += following.inner.eq(state.inner + 1)
                self._go_on(m, (~last_inner, LoopStep.LOOP), (self.has_end_0, LoopStep.END_0), ends=ends)
            with m.Case(LoopStep.END_0):
                m.d.comb += self.place.eq(3)
                self._go_on(m, (self.has_end_1, LoopStep.END_1), ends=ends)
            with m.Default():
                m.d.comb += [self.place.eq(4), ends.eq(1)]
        return m

    def _go_on(self, m, *choices, ends):
        """Take the first step whose condition holds; without one the round ends."""
        taken = False
        for condition, step in choices:
            with m.Elif(condition) if taken else m.If(condition):
                m.d.comb += self.following.step.eq(step)
            taken = True
        with m.Else():
            m.d.comb += ends.eq(1)
