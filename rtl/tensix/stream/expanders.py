"""Both expanders of a thread: the words of MOP's expansions go through the replay expander, too.

Ref: tt-isa-documentation 3930471, MOPExpander, REPLAY.
"""

from dataclasses import dataclass

from amaranth import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, enum, memory, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from bitpath.golden.tensix.declarations.encodings import (
    BY_NAME,
    COUNT_MASK,
    EXTRA_ROUNDS,
    MASK_BITS,
    MASK_HIGH_SHIFT,
    MOP_WORDS,
    OPCODE_LOW,
    REPLAY_WORDS,
    WORD_BITS,
)
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.rtl.common.unit import CLOCK, Covered, Unit, WaveGroup

# Instruction words: opcodes and fields by their names in the table of encodings.


def is_instruction(word: Value, name: str) -> Value:
    """Return 1 if a word has an instruction's opcode, which is the same on both chips."""
    return word[OPCODE_LOW:WORD_BITS] == BY_NAME[Chip.WORMHOLE][name].opcode


def field(word: Value, name: str, instruction: str, chip: Chip = Chip.WORMHOLE) -> Value:
    """Bits of an instruction's field."""
    segment = next(each for each in BY_NAME[chip][instruction].fields if each.name == name)
    return word[segment.low : segment.high + 1]


def stray(word: Value, instruction: str, chip: Chip = Chip.WORMHOLE) -> Value:
    """Return 1 if a word has ones outside of an instruction's fields."""
    return (word & ~BY_NAME[chip][instruction].used_bits & (1 << WORD_BITS) - 1).any()


@dataclass(frozen=True, kw_only=True)
class MopExpanderConfig:
    """Configuration of a MOP expander, which is the same on both chips."""


@dataclass(frozen=True, kw_only=True)
class ReplayExpanderConfig:
    """Configuration of a replay expander, which is the same on both chips."""


@dataclass(frozen=True, kw_only=True)
class InstructionExpanderConfig:
    """Configuration of both expanders of a thread, which are the same on both chips."""


# State of a MOP expander in an expansion.


ROUND_BITS, INNER_BITS, STEP_BITS = 8, 8, 3
"""Bits of a round's number, at most 129 rounds; of a round of the inner loop, at most 254; of a step in a round."""
PLACE_BITS = 4
"""Bits of the number of a configuration word."""
MOP_STATE = data.StructLayout({"round": ROUND_BITS, "inner": INNER_BITS, "step": STEP_BITS})
"""Layout of the state, which is 0 at the first word of an expansion."""


# Template 0 of the MOP expander: rounds of up to five words, or of skip words where the mask has a 1.
#
# Ref: tt-isa-documentation 3930471, MOPExpander, ExpandTemplate0.


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
    """Combinational: the word at a state, and the state after it.

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


# Template 1 of the MOP expander: two nested loops, whose last inner word is replaced.
#
# Ref: tt-isa-documentation 3930471, MOPExpander, ExpandTemplate1.


class LoopStep(enum.Enum, shape=3):
    """Words of an outer round. A round begins at FIRST, its first word."""

    FIRST = 0
    START = 1
    LOOP = 2
    END_0 = 3
    END_1 = 4


class NestedRounds(wiring.Component):
    """Combinational: the word at a state, and the state after it.

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


# MOP expander of a thread: MOP becomes a sequence of nine configuration words, MOP_CFG the upper half of its mask.
#
# ::
#
#     i --> [ word ] --> o      a word leaves in the cycle after it came; a MOP stays until the last word of its expansion left
#              |
#        words 0 .. 8           written by the thread's core while no MOP is there
#
# Ref: tt-isa-documentation 3930471, MOPExpander.


MOP_WRITE = data.StructLayout({"place": PLACE_BITS, "word": WORD_BITS})
"""Layout of a write to a configuration word; places of 9 and more hold none."""
COUNT_BITS = COUNT_MASK.bit_length()


class MopExpander(wiring.Component):
    """A word a cycle in and out, in order; latency 1.

    MOP_CFG, and a MOP whose expansion is empty, take a cycle in which nothing leaves. In the cycle after a MOP nothing but
    another MOP leaves: a word that came with the MOP's last one waits for a cycle.

    Parameters
    ----------
    config : MopExpanderConfig, which has no fields.

    Members
    -------
    write : In(stream of MOP_WRITE), which waits while a MOP is there
    i, o : In, Out(stream of 32-bit words)
    illegal : Out(1), the MOP_CFG that is there has ones in bits of no field, and does nothing
    """

    def __init__(self, config: MopExpanderConfig):
        words = stream.Signature(WORD_BITS)
        super().__init__({"write": In(stream.Signature(MOP_WRITE)), "i": In(words), "o": Out(words), "illegal": Out(1)})

    def elaborate(self, platform):
        m = Module()
        word = Signal(WORD_BITS)
        full = Signal()
        mask_high = Signal(MASK_BITS - MASK_HIGH_SHIFT)
        is_mop = Signal()
        sets_mask = Signal()
        waits = Signal()
        after_mop = Signal()
        leaves = Signal()
        config = [Signal(WORD_BITS, name=f"config_{place}") for place in range(MOP_WORDS)]
        mask = Cat(field(word, "mask_low", "MOP"), mask_high)
        place, last, empty = self._expand(m, word, config, mask, is_mop & self.o.valid & self.o.ready)
        m.d.comb += [
            is_mop.eq(full & is_instruction(word, "MOP")),
            sets_mask.eq(full & is_instruction(word, "MOP_CFG")),
            self.illegal.eq(sets_mask & stray(word, "MOP_CFG")),
            waits.eq(after_mop & ~is_mop),
            self.o.valid.eq(full & ~sets_mask & ~waits & ~(is_mop & empty)),
            self.o.p.eq(Mux(is_mop, Array(config)[place], word)),
            leaves.eq(full & ~waits & (~self.o.valid | (self.o.ready & (~is_mop | last)))),
            self.i.ready.eq(~full | leaves),
            self.write.ready.eq(~is_mop),
        ]
        m.d.sync += after_mop.eq(is_mop & leaves)
        with m.If(self.i.ready):
            m.d.sync += [full.eq(self.i.valid), word.eq(self.i.p)]
        with m.If(sets_mask & ~self.illegal):
            m.d.sync += mask_high.eq(field(word, "mask_high", "MOP_CFG"))
        with m.If(self.write.valid & self.write.ready):
            for number, each in enumerate(config):
                with m.If(self.write.p.place == number):
                    m.d.sync += each.eq(self.write.p.word)
        return m

    def _expand(self, m, word, config, mask, moves):
        """Return the number of the configuration word at the state, whether it is the last one, and whether no word is
        left.

        The state moves on with each word of a MOP that leaves.
        """
        state = Signal(MOP_STATE)
        following = Signal(MOP_STATE)
        place = Signal(PLACE_BITS)
        last = Signal()
        m.submodules.masked = masked = MaskedRounds()
        m.submodules.nested = nested = NestedRounds()
        outer, inner, start, end_0, end_1, _, alternative, *_ = config
        loops = field(word, "template", "MOP")
        m.d.comb += [
            masked.state.eq(state),
            masked.has_b.eq(inner[0]),
            masked.has_a123.eq(inner[1]),
            masked.mask.eq(mask),
            masked.count_minus_1.eq(field(word, "count_minus_1", "MOP")),
            nested.state.eq(state),
            nested.outer_count.eq(outer[:COUNT_BITS]),
            nested.inner_count.eq(inner[:COUNT_BITS]),
            nested.has_start.eq(~is_instruction(start, "NOP")),
            nested.has_end_0.eq(~is_instruction(end_0, "NOP")),
            nested.has_end_1.eq(~is_instruction(end_1, "NOP")),
            nested.has_alternative.eq(~is_instruction(alternative, "NOP")),
            place.eq(Mux(loops, nested.place, masked.place)),
            last.eq(Mux(loops, nested.last, masked.last)),
            following.eq(Mux(loops, nested.following, masked.following)),
        ]
        with m.If(moves):
            m.d.sync += state.eq(Mux(last, 0, following))
        return place, last, loops & nested.empty


# Replay expander of a thread: a buffer of 32 words that REPLAY loads from the stream and plays.
#
# ::
#
#     i --> [ word ] --+------------> o     a word leaves in the cycle after it came, a REPLAY that plays with its last one
#              |       |
#              +--> [ buffer ] --> o
#
# Ref: tt-isa-documentation, REPLAY, 3930471 and 065d59f.


class ReplayExpander(wiring.Component):
    """A word a cycle in and out, in order; latency 1. The buffer keeps its words over a reset.

    A REPLAY that loads, and words that are loaded and not executed, take a cycle in which nothing leaves.

    Parameters
    ----------
    config : ReplayExpanderConfig, which has no fields.

    Members
    -------
    i, o : In, Out(stream of 32-bit words)
    illegal : Out(1), the REPLAY that is there has ones in bits of no field, or a count above 32, and does nothing
    """

    def __init__(self, config: ReplayExpanderConfig):
        words = stream.Signature(WORD_BITS)
        super().__init__({"i": In(words), "o": Out(words), "illegal": Out(1)})

    def elaborate(self, platform):
        m = Module()
        word = Signal(WORD_BITS)
        full = Signal()
        executes = Signal()
        start, count = field(word, "start", "REPLAY"), field(word, "count", "REPLAY")
        length = Signal(range(REPLAY_WORDS + 1))
        left = Signal(range(REPLAY_WORDS + 1))
        place = Signal(range(REPLAY_WORDS))
        played = Signal(range(REPLAY_WORDS))
        loads = Signal()
        replays = Signal()
        plays = Signal()
        leaves = Signal()
        m.submodules.buffer = buffer = memory.Memory(shape=WORD_BITS, depth=REPLAY_WORDS, init=[])
        write, read = buffer.write_port(), buffer.read_port(domain="comb")
        m.d.comb += [
            # The words that are loaded are not looked at.
            loads.eq(left != 0),
            replays.eq(full & ~loads & is_instruction(word, "REPLAY")),
            plays.eq(replays & ~self.illegal & ~field(word, "load", "REPLAY")),
            # 32 and 0 are the same.
            length.eq(Mux(count[: len(place)] == 0, REPLAY_WORDS, count[: len(place)])),
            self.illegal.eq(replays & (stray(word, "REPLAY") | (count > REPLAY_WORDS))),
            read.addr.eq(start + played),
            self.o.valid.eq(full & Mux(loads, executes, plays | ~replays)),
            self.o.p.eq(Mux(plays, read.data, word)),
            leaves.eq(full & (~self.o.valid | (self.o.ready & (~plays | (played + 1 == length))))),
            self.i.ready.eq(~full | leaves),
            write.addr.eq(place),
            write.data.eq(word),
            write.en.eq(loads & leaves),
        ]
        with m.If(self.i.ready):
            m.d.sync += [full.eq(self.i.valid), word.eq(self.i.p)]
        with m.If(loads & leaves):
            m.d.sync += [left.eq(left - 1), place.eq(place + 1)]
        with m.Elif(plays & self.o.ready):
            m.d.sync += played.eq(Mux(leaves, 0, played + 1))
        with m.Elif(replays & ~plays & ~self.illegal):
            m.d.sync += [left.eq(length), place.eq(start), executes.eq(field(word, "execute", "REPLAY"))]
        return m


class InstructionExpander(wiring.Component):
    """A word a cycle in and out, in order; latency 2. A REPLAY of two words or more at a MOP's end hides the cycle after it.

    Parameters
    ----------
    config : InstructionExpanderConfig, which has no fields.

    Members
    -------
    write : In(stream of MOP_WRITE), as of MopExpander
    i, o : In, Out(stream of 32-bit words)
    illegal : Out(1), an expander has a word with ones in bits of no field, or a REPLAY of more than 32 words, which does nothing
    """

    def __init__(self, config: InstructionExpanderConfig):
        words = stream.Signature(WORD_BITS)
        super().__init__({"write": In(stream.Signature(MOP_WRITE)), "i": In(words), "o": Out(words), "illegal": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.mop = mop = MopExpander(MopExpanderConfig())
        m.submodules.replay = replay = ReplayExpander(ReplayExpanderConfig())
        connect(m, flipped(self.write), mop.write)
        connect(m, flipped(self.i), mop.i)
        connect(m, mop.o, replay.i)
        connect(m, replay.o, flipped(self.o))
        m.d.comb += self.illegal.eq(mop.illegal | replay.illegal)
        return m


RECORDS = (
    Unit(
        name="mop_expander",
        config_type=MopExpanderConfig,
        build=MopExpander,
        summary="Tensix: a MOP becomes a sequence of nine configuration words",
        covered=Covered(MopExpanderConfig(), 500),
        waves=(
            CLOCK,
            WaveGroup("words", r"(i__|o__|word|full|illegal)"),
            WaveGroup("MOP", r"(is_mop|waits|after_mop|leaves|place|last|state|following|mask_high)"),
            WaveGroup("configuration", r"(write__|config_)"),
            WaveGroup("templates", r"(masked|nested)\."),
        ),
    ),
    Unit(
        name="replay_expander",
        config_type=ReplayExpanderConfig,
        build=ReplayExpander,
        summary="Tensix: REPLAY loads 32 words from the stream and plays them",
        covered=Covered(ReplayExpanderConfig(), 500),
        waves=(
            CLOCK,
            WaveGroup("words", r"(i__|o__|word|full|illegal)"),
            WaveGroup("REPLAY", r"(replays|plays|loads|executes|length|left|place|played|leaves)"),
            WaveGroup("buffer", r"(buffer|write|read)"),
        ),
    ),
    Unit(
        name="instruction_expander",
        config_type=InstructionExpanderConfig,
        build=InstructionExpander,
        summary="Tensix: both expanders of a thread",
        covered=Covered(InstructionExpanderConfig(), 500),
        waves=(
            CLOCK,
            WaveGroup("words", r"(i__|o__|illegal|write__)"),
            WaveGroup("MOP expander", r"mop\."),
            WaveGroup("replay expander", r"replay\."),
        ),
    ),
)
