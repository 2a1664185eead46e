"""Bench of the moves' operands: the record changes SrcA, SrcB, Dst and their banks as golden's instruction does."""

from copy import deepcopy
from random import Random

import numpy as np
from cocotb.triggers import Timer

from bitpath.golden.tensix.core.core import UNITS
from bitpath.golden.tensix.core.state import State, movb2d_format, src_a_format
from bitpath.golden.tensix.core.unpacker import action
from bitpath.golden.tensix.declarations.formats import COLUMNS, Chip, Format
from bitpath.golden.tensix.isa import Instruction
from bitpath.rtl.tensix.core.config import ChipConfig
from bitpath.rtl.tensix.core.decode import BANKS, FIELD_VALUES, MOVES
from bitpath.rtl.tensix.core.matrix_operands import BankFormat, MoveOperands
from bitpath.rtl.tensix.matrix.mover import Move, MoveKind
from bitpath.verif.kit.unit_bench import UnitBench, cases, cross, pauses, resolved, unpack
from bitpath.verif.tensix.matrix.moving import Registers, apply
from bitpath.verif.tensix.program.golden_core import MATH
from bitpath.verif.tensix.program.views import (
    NO_FORMATS,
    implied_formats,
    other_fields,
    random_instruction,
    random_state,
    seldom,
    set_own,
    set_shared,
    view_of,
)

BENCH = UnitBench(MoveOperands, ChipConfig)
CONFIG = BENCH.config
CHIP = CONFIG.chip
CASES = cases(40)
L1_BYTES = 64
CHANGES = (*BANKS, "SETRWC")
"""Instructions that clear banks or change their owners."""
FATES = ("executed", "refused")


def any_state(rng: Random) -> State:
    """Return a state with random registers and owners, whose formats are configured or implied; a code may be no format's."""
    state = random_state(CHIP, rng, L1_BYTES)
    registers = Registers.random(rng)
    for place, name in enumerate("ab"):
        source = state.source(place)
        source.words[:] = registers.sources[place]
        source.unpacker_bank, source.matrix_bank = registers.pointers[place]
        source.owned[:] = [bool(rng.getrandbits(1)), bool(rng.getrandbits(1))]
        source.formats[:] = [None if seldom(rng, 0.1) else rng.choice([*Format]) for _ in range(2)]
        set_shared(state, f"src_{name}_format", rng.choice(NO_FORMATS if rng.random() < 0.25 else [*Format]))
        if CHIP is Chip.BLACKHOLE:
            set_own(state, f"implied_src_{name}_disabled", rng.getrandbits(1))
    state.dst.bits[:], state.dst.defined[:] = registers.dst.bits, registers.dst.defined
    return state


def any_instruction(rng: Random, name: str) -> Instruction:
    """Return an instruction that the decoder does not refuse."""
    values = {field: rng.choice(values) for (of, field), values in FIELD_VALUES.items() if of == name}
    while True:
        instruction = random_instruction(CHIP, rng, name, **values, **({"bank": 0} if name == "UNPACR_NOP" else {}))
        try:
            if name == "UNPACR_NOP":
                action(CHIP, instruction)
        except ValueError:
            continue
        return instruction


async def applied(dut, rng: Random, state: State, instruction: Instruction) -> None:
    """Show an instruction and the state that it sees."""
    dut.view.value = view_of(state, MATH, instruction, other_fields(CHIP, rng, (*MOVES, *CHANGES)))
    dut.implied.value = implied_formats(state)
    await Timer(1, unit="ns")


def moved(state: State, record: dict, fmt: int | None) -> None:
    """Apply a record to a state, whose Dst is in the order of the storage then; `fmt` is that of a bank that is handed over."""
    state.dst.remapped = state.dst.swizzled = False
    sources = [state.source(side) for side in range(2)]
    pointers = [(each.unpacker_bank, each.matrix_bank) for each in sources]
    apply(Registers([each.words for each in sources], pointers, state.dst), record, state.numerics)
    if record["kind"] is not MoveKind.BANKS:
        return
    change = record["change"]
    for side, source in enumerate(sources):
        handed, released, flipped = (change[name] >> side & 1 for name in ("hand_over", "release", "flip"))
        if change["reset"]:
            source.reset()
        if handed:
            source.hand_over(fmt)
        source.give_back(release=bool(released), flip=bool(flipped))


def rows_of(state: State) -> np.ndarray:
    """Return the rows of SrcA, SrcB and Dst, uint32 [1280, 17]; the last column of Dst's rows says whether they are defined."""
    words = [state.source(side).words.reshape(-1, COLUMNS) for side in range(2)]
    rows = np.concatenate([*words, state.dst.bits]).astype(np.uint32)
    flags = np.ones(len(rows), np.uint32)
    flags[-len(state.dst.defined) :] = state.dst.defined
    return np.column_stack([rows, flags])


def owners_of(state: State) -> int:
    """Return owners and pointers of both sources' banks as bits."""
    found = 0
    for each in (state.source(side) for side in range(2)):
        for bit in (*each.owned, each.unpacker_bank, each.matrix_bank):
            found = found << 1 | bit
    return found


def eight_swizzled(state: State, instruction: Instruction) -> bool:
    """Return whether a move takes eight swizzled rows of Dst, which a core refuses; raises for an unknown format."""
    name, fp32 = instruction.name, state.config.read("fp32_enabled", MATH)
    if name not in ("MOVA2D", "MOVB2D") or not instruction["mode"] & 2:
        return False
    fmt = src_a_format(state, MATH) if name == "MOVA2D" else movb2d_format(state, MATH)
    follows = fp32 and state.numerics.moves_follow_fp32
    return state.dst.swizzled and bool(fmt is Format.TF32 or instruction["low_half"] or follows)


def handed_format(dut) -> int | None:
    """Return the format that the record gives to a bank, or None if it is unknown."""
    found = unpack(BankFormat, resolved(dut.format))
    return found["code"] if found["known"] else None


def formats_of(state: State) -> int:
    """Return the formats that both sources' banks imply as bits."""
    codes = [code for side in range(2) for code in state.source(side).formats]
    return int.from_bytes(bytes(0xFF if code is None else code for code in codes))


def at_rest(instruction: Instruction) -> bool:
    """Return whether an instruction changes an unpacker's bank."""
    if instruction.name == "UNPACR_NOP":
        found = action(CHIP, instruction)
        return found.clears or found.hands_over
    return bool(instruction["reset"] if instruction.name == "CLEARDVALID" else instruction["sources"])


@BENCH.test(
    "move_operands.moves",
    "Rows are aligned to their number, formats configured or implied, and a low half leaves the upper one",
)
async def moves(frame):
    """Every move in random states: the rows that the record changes, word by word, are those that golden changes."""
    rng = pauses.rng("states")
    rows, flags = frame.scoreboard("rows", 32 * (COLUMNS + 1), output="o"), frame.scoreboard("refused", 1)
    coverage = frame.coverage(each for each in cross(MOVES, FATES) if each != "TRNSPSRCB/refused")
    for name in MOVES:
        for case in range(CASES):
            state, instruction = any_state(rng), any_instruction(rng, name)
            fate = await compared(frame.dut, rng, state, instruction, (rows, flags), f"case {case}, {instruction}")
            coverage.hit(f"{name}/{fate}")
            assert not resolved(frame.dut.rests)


async def compared(dut, rng: Random, state: State, instruction: Instruction, boards: tuple, shown: str) -> str:
    """Compare the rows that golden or the record changes, or the refusal; return which."""
    rows, flags = boards
    before, by_record = rows_of(state), deepcopy(state)
    await applied(dut, rng, state, instruction)
    bits = unpack(Move, resolved(dut.o))
    record = {name: bits[name] for name in Move.as_shape().members}
    try:
        refused = eight_swizzled(state, instruction)
        UNITS[instruction.name](state, MATH, instruction)
    except ValueError:
        refused = True
    flags.compare(resolved(dut.refused), int(refused), shown)
    if not refused:
        moved(by_record, record, handed_format(dut))
        after, got = rows_of(state), rows_of(by_record)
        for row in np.flatnonzero(((after != before) | (got != before)).any(axis=1)):
            rows.compare(
                int.from_bytes(got[row].tobytes(), "little"),
                int.from_bytes(after[row].tobytes(), "little"),
                f"{shown}, row {row}",
            )
    return FATES[refused]


@BENCH.test("move_operands.changes", "An unpacker must be at rest when its bank changes")
async def changes(frame):
    """Every instruction that clears banks or changes their owners: words, owners, pointers and implied formats."""
    rng = pauses.rng("states")
    dut = frame.dut
    rows, flags = frame.scoreboard("rows", 32 * (COLUMNS + 1), output="o"), frame.scoreboard("refused", 1)
    owners, rests = frame.scoreboard("owners", 8, output="o"), frame.scoreboard("rests", 1)
    formats = frame.scoreboard("format", 32)
    coverage = frame.coverage(CHANGES)
    for name in CHANGES:
        coverage.hit(name)
        for case in range(CASES):
            state, instruction = any_state(rng), any_instruction(rng, name)
            shown = f"case {case}, {instruction}"
            by_record = deepcopy(state)
            assert await compared(dut, rng, state, instruction, (rows, flags), shown) == FATES[0]
            bits = unpack(Move, resolved(dut.o))
            moved(by_record, {each: bits[each] for each in Move.as_shape().members}, handed_format(dut))
            owners.compare(owners_of(by_record), owners_of(state), shown)
            if name != "SETRWC":
                rests.compare(resolved(dut.rests), int(at_rest(instruction)), shown)
            if name in ("UNPACR_NOP", "SETDVALID"):
                formats.compare(formats_of(by_record), formats_of(state), shown)
