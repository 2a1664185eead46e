"""Bench of the quad-MX PE: loads behind a running multiplication, swaps that travel, stalls at any time.

A program gives every cycle's inputs; what the PE must show after each of them comes from golden before anything is
driven. ``BITPATH_CASES`` sets the cycles of a test.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import cocotb
from cocotb.triggers import FallingEdge

from bitpath.golden.spec.formats import FP32
from bitpath.rtl.trainium3.config import DotConfig
from bitpath.rtl.trainium3.quad_mx_dot import operand_layout
from bitpath.rtl.trainium3.quad_mx_pe import QuadMxPe
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.coverage import cross
from bitpath.verif.kit.packing import pack, width
from bitpath.verif.kit.streams import resolved
from bitpath.verif.stimulus.quad_mx import RANDOM_CLASSES, DotCase, comparable_case

CONFIG = config_from_environment(DotConfig)
NUMERICS = CONFIG.numerics
LATENCY = CONFIG.pipeline.stages + 1
SIGNATURE = QuadMxPe(CONFIG).signature
OPERAND = operand_layout(NUMERICS)
CASES = int(os.environ.get("BITPATH_CASES", "500"))
LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}

STALLS = {
    "none": pauses.never,
    "scattered": lambda: pauses.scattered(0.4, pauses.rng("advance")),
    "bursts": lambda: pauses.bursts(8, pauses.rng("advance")),
}
WIDTHS = {
    "load": 1,
    "swap_west": 1,
    "stationary_west": width(OPERAND),
    "moving_west": width(OPERAND),
    "partial_north": FP32.width,
}
"""The inputs that a stall must not let in."""


@dataclass(frozen=True)
class Cycle:
    """Inputs of one cycle; ``loaded`` gives the stationary operand, ``work`` the moving one and the partial sum."""

    load: bool
    swap: bool
    loaded: DotCase
    work: DotCase


@dataclass(frozen=True)
class Seen:
    """What the PE must show after a cycle; None where nothing has come yet, for operands are not reset."""

    stationary_east: int | None
    moving_east: int
    swap_east: int
    partial_south: int | None


def side(case: DotCase, name: str) -> int:
    """One side of a case as the port's integer."""
    return pack(OPERAND, case.operands(NUMERICS)[name])


def model(program: list[Cycle]) -> list[Seen]:
    """Play the program on two stationary copies and a queue of results."""
    second = held = None
    results: list[int | None] = [None] * (LATENCY - 1)
    seen = []
    for cycle in program:
        work = cycle.work
        results.append(None if held is None else step(held, work))
        # A swap comes a register later than a load: it takes a word that is loaded in the same cycle.
        second = cycle.loaded if cycle.load else second
        held = second if cycle.swap else held
        seen.append(
            Seen(
                side(second, "stationary") if second else None,
                side(work, "moving"),
                int(cycle.swap),
                results[len(seen)],
            )
        )
    return seen


def step(held: DotCase, work: DotCase) -> int:
    """One dot step with the stationary side of ``held`` and the rest of ``work``."""
    return (
        DotCase(
            held.stationary,
            held.stationary_format,
            work.moving,
            work.moving_format,
            held.stationary_scale,
            work.moving_scale,
            work.partial,
        )
        .trace(NUMERICS)
        .result
    )


async def play(dut, program: list[Cycle], stalls: Iterator[bool]) -> None:
    """Drive the program, junk while stalled, and compare every output after every cycle, stalled ones too."""
    expected = model(program)
    junk = pauses.rng("junk")
    async with bench(dut, SIGNATURE, drain=False) as frame:
        coverage = frame.coverage(cross(("load", "hold"), ("swap", "stay")))
        boards = {name: frame.scoreboard(name, shape) for name, shape in OUTPUTS.items()}
        await FallingEdge(dut.clk)
        shown = None
        for cycle, after in zip(program, expected, strict=True):
            while next(stalls):
                drive(dut, {"advance": 0} | {name: junk.getrandbits(bits) for name, bits in WIDTHS.items()})
                await FallingEdge(dut.clk)
                compare(dut, boards, shown)
            coverage.hit("load" if cycle.load else "hold", "swap" if cycle.swap else "stay")
            drive(dut, inputs(cycle))
            await FallingEdge(dut.clk)
            shown = after
            compare(dut, boards, shown)


OUTPUTS = {"stationary_east": OPERAND, "moving_east": OPERAND, "swap_east": 1, "partial_south": FP32.width}


def inputs(cycle: Cycle) -> dict[str, int]:
    """The port values of a cycle."""
    return {
        "advance": 1,
        "load": int(cycle.load),
        "swap_west": int(cycle.swap),
        "stationary_west": side(cycle.loaded, "stationary"),
        "moving_west": side(cycle.work, "moving"),
        "partial_north": cycle.work.partial,
    }


def drive(dut, values: dict[str, int]) -> None:
    for name, value in values.items():
        getattr(dut, name).value = value


def compare(dut, boards, seen: Seen | None) -> None:
    """Hold the outputs against what they must be; before the first cycle nothing is known of them."""
    for name, board in boards.items():
        expected = None if seen is None else getattr(seen, name)
        if expected is not None:
            board.expect(expected)
            board.got(resolved(getattr(dut, name)))


def tiles(rng: Random, cycles: int, longest: int) -> list[Cycle]:
    """Tiles back to back: each is loaded while the one before multiplies, and swapped in with its last word.

    A tile's words come several in a row, as those of a whole row of PEs do: the last one shifted in is this PE's.
    """
    program = []
    while len(program) < cycles:
        length = rng.randint(1, longest)
        first = rng.randrange(length)
        for word in range(length):
            last = word == length - 1
            program.append(Cycle(length == 1 or first <= word < length - 1, last, any_operands(rng), any_operands(rng)))
    return program


def any_operands(rng: Random) -> DotCase:
    """Of a random class, half the time one whose result shows every bit."""
    maker = comparable_case if rng.getrandbits(1) else rng.choice(list(RANDOM_CLASSES.values()))
    return maker(NUMERICS, rng)


@cocotb.test(**LIMIT)
@cocotb.parametrize(stall=list(STALLS))
async def tiles_back_to_back(dut, stall):
    await play(dut, tiles(pauses.rng("program"), CASES, 12), STALLS[stall]())


@cocotb.test(**LIMIT)
@cocotb.parametrize(stall=list(STALLS))
async def loads_and_swaps_at_random(dut, stall):
    rng = pauses.rng("program")
    program = [
        Cycle(rng.random() < 0.5, rng.random() < 0.3, any_operands(rng), any_operands(rng)) for _ in range(CASES)
    ]
    await play(dut, program, STALLS[stall]())
