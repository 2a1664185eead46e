"""Bench of the issue logic: chains of transposes, what waits for what, random programs against golden and with stalls.

Expected cycles come from golden's `issue`; with stalls, from slots and banks counted in Python.
"""

from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import Any

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.trainium3 import TensorInstruction, issue
from bitpath.rtl.trainium3.tensor.tensor_issue import (
    TILES,
    IssueConfig,
    TensorIssue,
    command_layout,
    instruction_layout,
)
from bitpath.verif.kit.unit_bench import UnitBench, cases, cross, pack, pauses, resolved

BENCH = UnitBench(TensorIssue, IssueConfig)
CONFIG = BENCH.config
INSTRUCTION, COMMAND = instruction_layout(CONFIG), command_layout(CONFIG)
CASES = cases(400)
SIDE = 32
ACROSS = 4
"""Tiles of 32 x 32 across the array."""
LONGEST = (1 << CONFIG.cycle_bits) - 1
BOTH_SLOTS = LONGEST >= 4 and CONFIG.banks > 2
"""Whether a matmul and transposes behind it have cycles and banks enough to fill both slots."""
LONG_BITS = 9
"""Bits of the counts that are tried: a simulation counts each cycle."""


@dataclass(frozen=True, kw_only=True)
class AnyInstruction:
    """An instruction of any fields, also of those that golden does not have: no cycles or banks, ``tile`` as any set of tiles."""

    cycles: int
    banks: tuple[int, ...]
    transpose: bool
    tile: int | None


Instruction = TensorInstruction | AnyInstruction


def fields(instruction: Instruction, tag: int) -> dict[str, int]:
    tiles = 0
    if isinstance(instruction, AnyInstruction):
        tiles = instruction.tile or 0
    elif instruction.tile is not None:
        row, column, rows, columns = (each // SIDE for each in instruction.tile)
        tiles = sum(1 << ACROSS * r + c for r in range(row, row + rows) for c in range(column, column + columns))
    return {
        "cycles": instruction.cycles,
        "banks": sum({1 << bank for bank in instruction.banks}),
        "tiles": tiles,
        "transpose": instruction.transpose,
        "tag": tag % (1 << CONFIG.tag_bits),
    }


def kind(instruction: Instruction) -> str:
    return "tiled" if instruction.tile else "transpose" if instruction.transpose else "matmul"


def transposes(count: int) -> list[TensorInstruction]:
    cycles = min(128, LONGEST // 4)
    return [TensorInstruction(cycles=cycles, banks=(each % 2,), transpose=True) for each in range(count)]


def random_instruction(rng: Random, longest: int) -> TensorInstruction:
    tile = None
    if rng.random() < 0.3:
        sizes = [rng.choice((1, 2, 4)) for _ in range(2)]
        tile = (*(SIDE * size * rng.randrange(ACROSS // size) for size in sizes), *(SIDE * size for size in sizes))
    return TensorInstruction(
        cycles=rng.randint(1, min(longest, LONGEST)),
        banks=tuple(rng.sample(range(CONFIG.banks), min(CONFIG.banks, rng.choice((1, 1, 2))))),
        transpose=rng.random() < 0.6,
        tile=tile,
    )


async def play(
    frame: Any, *programs: list[Any], late: list[int] | None = None, stalls: Any = None, bins: Any = ()
) -> list[int]:
    """Offer instructions in order, each from its cycle of ``late`` on; return the cycles in which commands left.

    Every offer is compared, and without stalls every cycle with golden's. A reset stands between two programs.
    """
    taken: list[int] = []
    dut = frame.dut
    coverage, board = frame.coverage(bins), frame.scoreboard("o", frame.payload_shape("o"))
    frame.onlook("i")
    frame.onlook("o")
    for program in programs:
        if program is not programs[0]:
            await frame.reset()
        slots = None if stalls or late else issue(program)
        busy: dict[Any, int] = {}
        cycle = number = 0
        while number < len(program):
            own = program[number]
            offered, takes = late is None or cycle >= late[number], stalls is None or not next(stalls)
            dut.i__valid.value, dut.o__ready.value = int(offered), int(takes)
            dut.i__payload.value = pack(INSTRUCTION, fields(own, number))
            await FallingEdge(dut.clk)
            free, background = may_issue(own, busy, cycle)
            assert resolved(dut.o__valid) == (offered and free), f"instruction {number}, cycle {cycle}"
            assert resolved(dut.i__ready) == (takes and free)
            if bins:
                coverage.hit(kind(own), "issues" if free else "waits")
            if offered and free:
                command = {"instruction": fields(own, number), "background": background}
                board.compare(
                    resolved(dut.o__payload),
                    pack(COMMAND, command),
                    f"instruction {number}, {kind(own)}, cycle {cycle}",
                )
            if offered and free and takes:
                if slots is not None:
                    assert (slots[number].start, slots[number].background) == (cycle, background)
                busy |= dict.fromkeys(places(own, background), cycle + max(1, own.cycles))
                taken.append(cycle)
                number += 1
            cycle += 1
            await RisingEdge(dut.clk)
        dut.i__valid.value = 0
    return taken


def places(own: Instruction, background: bool) -> list[Any]:
    """The slots and banks that an instruction holds."""
    tiles = fields(own, 0)["tiles"]
    slots: list[Any] = [("tile", tile) for tile in range(TILES) if tiles >> tile & 1]
    return [*(slots or ["background" if background else "main"]), *(("bank", bank) for bank in own.banks)]


def may_issue(own: Instruction, busy: dict[Any, int], cycle: int) -> tuple[bool, bool]:
    """Return whether an instruction may issue in a cycle, and whether in the background."""
    held = {place for place, end in busy.items() if end > cycle}
    background = own.tile is None and "main" in held
    mine = set(places(own, background))
    if own.tile is None:
        others = any(isinstance(place, tuple) and place[0] == "tile" for place in held)
        return not (mine & held or others or (background and not own.transpose)), background
    return not (mine & held or {"main", "background"} & held), False


@BENCH.test("tensor_issue.pairs", "The background slot doubles the rate of chains", skip=not BOTH_SLOTS)
async def a_chain_of_transposes(frame):
    """Eight transposes in the time of four; four transposes behind a matmul of four times their length."""
    taken = await play(frame, transposes(8))
    cycles = transposes(1)[0].cycles
    assert taken == [cycles * (number // 2) + number % 2 for number in range(8)]


@BENCH.test("tensor_issue.pairs", skip=not BOTH_SLOTS)
async def transposes_behind_a_matmul(frame):
    """A matmul of 512 cycles and four transposes behind it."""
    cycles = transposes(1)[0].cycles
    matmul = TensorInstruction(cycles=4 * cycles, banks=(2,))
    assert await play(frame, [matmul, *transposes(4)]) == [0, *(1 + number * cycles for number in range(4))]


@BENCH.test("tensor_issue.rules", "Each rule alone decides when an instruction issues", longest=[1, 9, 40])
async def random_programs(frame, longest):
    """Random matmuls, transposes and tiled instructions at golden's cycles and in its slots: never two on a bank, no
    overtaking, a matmul never in the background, tiles beside disjoint tiles only."""
    rng = pauses.rng("program")
    program = [random_instruction(rng, longest) for _ in range(CASES)]
    bins = cross(("matmul", "transpose", "tiled"), ("issues", "waits") if min(longest, LONGEST) > 1 else ("issues",))
    await play(frame, program, bins=bins)


@BENCH.test("tensor_issue.stream", "A slot that counts from the offer would be free too early")
async def operands_and_stalls(frame):
    """Late instructions and stalled commands; a slot is taken with the command."""
    rng = pauses.rng("program")
    program = [random_instruction(rng, 12) for _ in range(CASES)]
    late = np.cumsum([rng.choice((0, 1, 1, 5, 20)) for _ in program]).tolist()
    await play(frame, program, late=late, stalls=pauses.scattered(0.4, pauses.rng("o")))


@BENCH.test("tensor_issue.count", "A slot that is free a cycle early gives one PSUM bank two writers")
async def long_instructions(frame):
    """One cycle, powers of two, one less and one more."""
    counts = sorted({1, *(max(1, (1 << bit) + near) for bit in range(1, LONG_BITS + 1) for near in (-1, 0, 1))})
    program = [TensorInstruction(cycles=cycles, banks=(0,)) for cycles in counts if cycles <= LONGEST]
    taken = await play(frame, program)
    assert np.diff(taken).tolist() == [each.cycles for each in program[:-1]]


@BENCH.test("tensor_issue.rules")
async def each_tile_and_bank_alone(frame):
    """The second of two instructions on one tile, or on one bank, waits for the first until its last cycle."""
    program = []
    for place in range(TILES):
        tile = (SIDE * (place // ACROSS), SIDE * (place % ACROSS), SIDE, SIDE)
        program += [
            TensorInstruction(cycles=min(5, LONGEST), banks=(bank % CONFIG.banks,), tile=tile) for bank in (0, 1)
        ]
    for bank in range(CONFIG.banks):
        program += [TensorInstruction(cycles=min(5, LONGEST), banks=(bank,), transpose=True)] * 2
    await play(frame, program)


@BENCH.test("tensor_issue.fields", "The host sets these fields; each of their codes means something")
async def every_field(frame):
    """Every set of banks, also none, every set of one or two tiles and random ones, 0 cycles, tiled transposes."""
    rng = pauses.rng("program")
    few = [sum(1 << tile for tile in chosen) for size in (1, 2) for chosen in combinations(range(TILES), size)]
    sets = [*range(1 << CONFIG.banks), *(rng.getrandbits(CONFIG.banks) for _ in few)]
    tiles = [*few, *(rng.choice((None, rng.randrange(1, 1 << TILES))) for _ in range(1 << CONFIG.banks))]
    rng.shuffle(tiles)
    program = [
        AnyInstruction(
            cycles=rng.randint(0, min(3, LONGEST)),
            banks=tuple(bank for bank in range(CONFIG.banks) if chosen >> bank & 1),
            transpose=bool(rng.getrandbits(1)),
            tile=tile,
        )
        for chosen, tile in zip(sets, tiles, strict=True)
    ]
    await play(frame, program, late=[0] * len(program))


@BENCH.test("tensor_issue.reset", "A count that survives would delay the next program")
async def resets(frame):
    """A reset with every slot and bank busy frees them."""
    cycles, every = min(100, LONGEST), tuple(range(CONFIG.banks))
    rng = pauses.rng("program")
    programs = [
        [TensorInstruction(cycles=cycles, banks=every)],
        [TensorInstruction(cycles=cycles, banks=(each % CONFIG.banks,), transpose=True) for each in range(2)],
        [TensorInstruction(cycles=cycles, banks=(0,), tile=(0, 0, 128, 128))],
    ]
    await play(
        frame, *(part for program in programs for part in (program, [random_instruction(rng, 3) for _ in range(3)]))
    )
