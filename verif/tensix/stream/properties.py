"""The instruction stream: order of a MOP's words, offers that stay, words that pass, and words that are loaded and played."""

from functools import partial

from amaranth import Mux, Value

from bitpath.golden.tensix.declarations.encodings import CHANNELS, DIMENSIONS, EXTRA_ROUNDS, MASK_BITS, UNITS, WIDTHS
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.rtl.tensix.stream.counters import COUNTER_BITS, Adc, AdcOp, CounterConfig, CounterStep, Rwc, RwcOp
from bitpath.rtl.tensix.stream.expanders import PLACES as ROUND_PLACES
from bitpath.rtl.tensix.stream.expanders import (
    SKIP_PLACES,
    InstructionExpander,
    InstructionExpanderConfig,
    LoopStep,
    MaskedRounds,
    MopExpander,
    MopExpanderConfig,
    NestedRounds,
    ReplayExpander,
    ReplayExpanderConfig,
    RoundStep,
    field,
    is_instruction,
)
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import offer_property
from bitpath.verif.formal.property import Properties, Sabotage

ROOM = "tensix/stream"
MOVES_EARLY = Sabotage(f"{ROOM}/expanders.py", "with m.Elif(plays & self.o.ready):", "with m.Elif(plays):")
"""A word that is played and waits gives way to the next one."""

PROPERTIES = Properties(
    ROOM,
    offer_property(
        "tensix.mop_expander",
        partial(MopExpander, MopExpanderConfig()),
        Sabotage(f"{ROOM}/expanders.py", "self.write.ready.eq(~is_mop)", "self.write.ready.eq(1)"),
        whole=False,
    ),
    offer_property("tensix.replay_expander", partial(ReplayExpander, ReplayExpanderConfig()), MOVES_EARLY, whole=False),
    offer_property(
        "tensix.instruction_expander",
        partial(InstructionExpander, InstructionExpanderConfig()),
        MOVES_EARLY,
        whole=False,
    ),
)


def _next_of(step: Value, present: dict[int, Value]) -> tuple[Value, Value]:
    """Return the lowest present step above another, and whether one exists."""
    found, there = Value.cast(0), Value.cast(0)
    for number in sorted(present, reverse=True):
        counts = present[number] & (step < number)
        found, there = Mux(counts, number, found), there | counts
    return found, there


@PROPERTIES.of(
    "masked_rounds",
    "masked_rounds_words",
    "a round has its words in order, those of its mask's bit; the last word of the last round is the last",
    ("& self.has_a123 & ~skips", "& self.has_a123"),
)
def rounds(claim: Claim) -> None:
    dut = claim.instantiate("dut", MaskedRounds())
    state = dut.state
    claim.assume(state.step <= RoundStep.B.value)
    skips = claim.value((state.round < MASK_BITS) & (dut.mask >> state.round)[0], "skips", 1)
    place = Value.cast(0)
    for step, number in ROUND_PLACES.items():
        place = Mux(state.step == step.value, Mux(skips, SKIP_PLACES.get(step, number), number), place)
    triple = claim.value(dut.has_a123 & ~skips, "triple", 1)
    present = {RoundStep.A1.value: triple, RoundStep.A2.value: Value.cast(1), RoundStep.A3.value: Value.cast(1)}
    # A2 and A3 follow A1 and nothing else.
    inside = (state.step == RoundStep.A1.value) | (state.step == RoundStep.A2.value)
    present = {step: each & (triple if step == 1 else inside) for step, each in present.items()}
    following, more = _next_of(state.step, present | {RoundStep.B.value: dut.has_b})
    claim.ensure(
        dut.place == place,
        dut.following.step == following,
        dut.following.inner == 0,
        dut.following.round == (state.round + ~more)[: len(state.round)],
        dut.last == (~more & (state.round == dut.count_minus_1)),
    )


@PROPERTIES.of(
    "nested_rounds",
    "nested_rounds_words",
    "start, inner words and ends follow each other as far as there are any; the last inner word is replaced",
    ("turn = Mux(self.has_alternative & state.inner[0], 6, 5)", "turn = Mux(state.inner[0], 6, 5)"),
)
def loops(claim: Claim) -> None:
    """From every state that the steps before it can lead to."""
    dut = claim.instantiate("dut", NestedRounds())
    state = dut.state
    inner = claim.value(Mux(dut.has_alternative, dut.inner_count * 2, dut.inner_count), "inner", 8)
    present = {
        LoopStep.START.value: dut.has_start,
        LoopStep.LOOP.value: inner != 0,
        LoopStep.END_0.value: dut.has_end_0,
        LoopStep.END_1.value: dut.has_end_0 & dut.has_end_1,
    }
    bug = (dut.outer_count == 1) & ~dut.has_start & (inner == 0) & dut.has_end_0
    outer = claim.value(Mux(bug, 1 + EXTRA_ROUNDS, dut.outer_count), "outer", 8)
    first, some = _next_of(Value.cast(0), present)
    claim.ensure(dut.empty == ((outer == 0) | ~some))
    now = claim.value(Mux(state.step == LoopStep.FIRST.value, first, state.step), "now", 3)
    there = Value.cast(0)
    for step, each in present.items():
        there |= (now == step) & each
    started = (state.step == LoopStep.FIRST.value) | (now > LoopStep.START.value)
    in_loop = claim.value(now == LoopStep.LOOP.value, "in_loop", 1)
    claim.assume(~dut.empty, there, started, state.round < outer, Mux(in_loop, state.inner < inner, state.inner == 0))
    last_inner = claim.value(state.inner + 1 == inner, "last_inner", 1)
    last_outer = claim.value(state.round + 1 == outer, "last_outer", 1)
    again = claim.value(in_loop & ~last_inner, "again", 1)
    behind, more = _next_of(now, present)
    turn = Mux(dut.has_alternative & state.inner[0], 6, 5)
    places = {
        LoopStep.START.value: 2,
        LoopStep.LOOP.value: Mux(last_inner, Mux(last_outer, 7, 8), turn),
        LoopStep.END_0.value: 3,
        LoopStep.END_1.value: 4,
    }
    place = Value.cast(0)
    for step, number in places.items():
        place = Mux(now == step, number, place)
    following = dut.following
    claim.ensure(
        dut.place == place,
        following.step == Mux(again, LoopStep.LOOP.value, behind),
        following.inner == Mux(again, state.inner + 1, 0),
        following.round == (state.round + ~(again | more))[: len(state.round)],
        dut.last == (~again & ~more & last_outer),
    )


@PROPERTIES.of(
    "mop_expander",
    "mop_expander_passes",
    "a word that no expander of MOPs handles leaves a cycle after it came; where a MOP left as it came, nothing leaves then",
    ("waits.eq(after_mop & ~is_mop)", "waits.eq(0)"),
    depth=1,
)
def passes(claim: Claim) -> None:
    dut = claim.instantiate("dut", MopExpander(MopExpanderConfig()))
    came = claim.register(dut.i.valid & dut.i.ready, "came")
    word = claim.register(dut.i.p, "word")
    handled = is_instruction(word, "MOP") | is_instruction(word, "MOP_CFG")
    plain = claim.value(came & ~handled, "plain", 1)
    behind = claim.register(claim.inside("dut", "is_mop") & claim.inside("dut", "leaves"), "behind")
    claim.ensure(
        ~plain | behind | (dut.o.valid & (dut.o.p == word)),
        ~plain | ~behind | ~dut.o.valid,
        ~plain | ~behind | ~dut.i.ready,
    )


@PROPERTIES.of(
    "replay_expander",
    "replay_expander_plays",
    "a word that was loaded is played from its place in the next cycle, and every other place keeps its word",
    ("write.addr.eq(place)", "write.addr.eq(start)"),
    depth=2,
)
def plays(claim: Claim) -> None:
    """Two reads of one place with a cycle between, in which it is written or not."""
    dut = claim.instantiate("dut", ReplayExpander(ReplayExpanderConfig()))
    word, played, playing = (claim.inside("dut", name) for name in ("word", "played", "plays"))
    at = claim.value(field(word, "start", "REPLAY") + played, "at", 5)
    loaded = claim.inside("dut", "loads") & claim.inside("dut", "leaves")
    stored, where = claim.register(loaded, "stored"), claim.register(claim.inside("dut", "place"), "where")
    data = claim.register(word, "data")
    claim.ensure(~playing | ~stored | (where != at) | (dut.o.p == data))
    twice = playing & claim.register(playing, "playing_before") & (claim.register(at, "at_before") == at)
    claim.ensure(~twice | (dut.o.p == claim.register(dut.o.p, "before")))


@PROPERTIES.of(
    "replay_expander",
    "replay_expander_loads",
    "while words are loaded they alone leave, if at all, and each one that goes on counts",
    ("left.eq(left - 1)", "left.eq(left - self.o.valid)"),
    depth=1,
)
def loads(claim: Claim) -> None:
    dut = claim.instantiate("dut", ReplayExpander(ReplayExpanderConfig()))
    left, word, executes = (claim.inside("dut", name) for name in ("left", "word", "executes"))
    full, place = (claim.inside("dut", name) for name in ("full", "place"))
    loading = claim.value(left != 0, "loading", 1)
    goes_on = claim.value(loading & full & dut.i.ready, "goes_on", 1)
    was, went = claim.register(left, "was"), claim.register(goes_on, "went")
    claim.ensure(
        ~loading | (dut.o.valid == (full & executes)),
        ~loading | ~dut.o.valid | (dut.o.p == word),
        ~loading | ~dut.illegal,
        (was == 0) | (left == was - went),
        (was == 0) | (place == (claim.register(place, "was_at") + went)[: len(place)]),
    )


@PROPERTIES.of(
    "counter_step",
    "counter_step_{bits}_bits",
    "{bits} bits: value and carry are those of the first rule that applies, modulo the width",
    ("self.carry & ~self.copy", "self.carry"),
    "bits",
    sorted({*COUNTER_BITS.values(), *WIDTHS.values()}),
)
def counted(claim: Claim, bits: int) -> None:
    dut = claim.instantiate("dut", CounterStep(bits))
    value, carry, size = dut.counter.value, dut.counter.carry, 1 << bits
    rules = (
        (dut.clear, 0),
        (dut.load, dut.increment),
        (dut.copy, (value + dut.increment) % size),
        (dut.carry, (carry + dut.increment) % size),
    )
    claim.assume(~dut.load | ~dut.copy)
    wanted, both = (value + dut.increment) % size, Value.cast(0)
    for flag, number in reversed(rules):
        wanted, both = Mux(flag, number, wanted), both | flag
    claim.ensure(
        dut.after.value == Mux(dut.enable, wanted, value),
        dut.after.carry == Mux(dut.enable & both, wanted, carry),
    )


@PROPERTIES.of(
    "rwc",
    "rwc_{chip.value}_sets",
    "{chip.value}: SETRWC leaves counters that it does not name, and adds to the carry, to the value or to nothing",
    ("~sets | instruction.which[place] | from_value", "~sets | instruction.which[place]"),
    "chip",
    list(Chip),
    depth=1,
)
def sets(claim: Claim, chip: Chip) -> None:
    dut = claim.instantiate("dut", Rwc(CounterConfig(chip=chip)), i__valid=1)
    fields = dut.i.p
    claim.assume(fields.op == RwcOp.SET)
    for place, (name, bits) in enumerate(COUNTER_BITS.items()):
        counter = dut.state[name]
        copies = fields.cr[3] if name == "dst" else Value.cast(0)
        base = Mux(copies, counter.value, Mux(fields.cr[place], counter.carry, 0))
        wanted = claim.value(base + fields[name], f"{name}_wanted", bits)
        counts = claim.value(fields.which[place] | copies, f"{name}_counts", 1)
        for part in ("value", "carry"):
            after = claim.register(Mux(counts, wanted, counter[part]), f"{name}_{part}_after")
            claim.ensure(counter[part] == after)
    phase = claim.register(Mux(fields.which[3], 0, dut.state.fidelity_phase), "phase_after")
    claim.ensure(dut.state.fidelity_phase == phase)
    claim.ensure(dut.state.extra_bit == claim.register(dut.state.extra_bit, "extra_before"))


@PROPERTIES.of(
    "rwc",
    "rwc_phase",
    "the phase moves by the modifier's increment or becomes 0, and keeps its place for instructions that do not count it",
    ("self.i.valid & (instruction.op == RwcOp.MODIFY)", "self.i.valid & modifies"),
    depth=1,
)
def phase(claim: Claim) -> None:
    dut = claim.instantiate("dut", Rwc(CounterConfig()))
    word, before = claim.inside("dut", "word_dst"), dut.state.fidelity_phase
    moves = claim.value(dut.i.valid & (dut.i.p.op == RwcOp.MODIFY), "moves", 1)
    keeps = claim.value(~dut.i.valid | (dut.i.p.op != RwcOp.SET), "keeps", 1)
    wanted = claim.value(Mux(word[15], 0, before + word[13:15]), "wanted", len(before))
    after = claim.register(Mux(moves, wanted, before), "after")
    claim.ensure(~claim.register(keeps, "kept") | (before == after))


@PROPERTIES.of(
    "adc",
    "adc_{op.name}",
    "{op.name}: counters of other units, channels and dimensions stay",
    None,
    "op, sabotage",
    [
        (AdcOp.SETADC, ("(instruction.dimension == place)", "(instruction.dimension[0] == place % 2)")),
        (AdcOp.SETADCXX, ('if name == "x":', 'if name in ("x", "w"):')),
        (AdcOp.SET_FOUR, ("(instruction.zw == place // 2) &", "")),
        (AdcOp.ADD_CR_FOUR, ("adds | instruction.which[index]", "instruction.which.any()")),
        (AdcOp.PACR, ("self.i.valid & self.i.p.units[unit]", "self.i.valid")),
    ],
    depth=1,
)
def stay(claim: Claim, op: AdcOp) -> None:
    dut = claim.instantiate("dut", Adc(CounterConfig()))
    fields = dut.i.p
    claim.assume(fields.op == op)
    for unit in range(UNITS):
        for channel in range(CHANNELS):
            for place, name in enumerate(DIMENSIONS):
                which = fields.which[CHANNELS * channel + place % 2] & (fields.zw == place // 2)
                named = {
                    AdcOp.SETADC: (fields.channel == channel) & (fields.dimension == place),
                    AdcOp.SETADCXX: Value.cast(int(name == "x")),
                    AdcOp.SET_FOUR: which,
                    AdcOp.ADD_CR_FOUR: which,
                    AdcOp.PACR: Value.cast(int(name in "yz")),
                }[op]
                touched = claim.register(dut.i.valid & fields.units[unit] & named, f"touched_{unit}_{channel}_{name}")
                counter = dut.state[unit][channel][name].as_value()
                before = claim.register(counter, f"before_{unit}_{channel}_{name}")
                claim.ensure(touched | (counter == before))
