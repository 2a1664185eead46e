"""Bench of the RMSNorm-Quant row unit: every mode at every pace, every length, stated corners, cycles, reset.

Expected bytes come from golden before anything is driven. ``BITPATH_CASES`` sets the random commands of a test.
"""

import os
from collections.abc import Iterator
from itertools import count

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.rtl.trainium3.rmsnorm_quant import RmsNormQuant
from bitpath.rtl.trainium3.vector_config import RmsNormQuantConfig
from bitpath.verif.host.rmsnorm_quant_rows import Batch, Rows, beats, lower
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import RESET_CYCLES, Bench, bench, config_from_environment
from bitpath.verif.kit.streams import resolved
from bitpath.verif.stimulus.rmsnorm_quant import MODES, Case, every_bf16_code, random_case
from bitpath.verif.stimulus.rmsnorm_quant_corners import CORNERS

CONFIG = config_from_environment(RmsNormQuantConfig)
LANES, LONGEST = CONFIG.lanes, CONFIG.max_row_length
SIGNATURE = RmsNormQuant(CONFIG).signature
CASES = int(os.environ.get("BITPATH_CASES", "50"))
LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}

INPUTS = ("command", "hidden", "gamma")
GAPS = {
    "full_speed": (pauses.never, pauses.never),
    "gaps": (lambda: pauses.bursts(6, pauses.rng("inputs")), pauses.never),
    "stalls": (pauses.never, lambda: pauses.bursts(6, pauses.rng("o"))),
    "both": (lambda: pauses.scattered(0.4, pauses.rng("inputs")), lambda: pauses.scattered(0.4, pauses.rng("o"))),
}
"""How the inputs pause, which share their pauses' source, and the output."""
BETWEEN = {
    "row kernel": 74,
    "row golden": 102,
    "row plain": 39,
    "static kernel": 68,
    "static golden": 96,
    "static plain": 33,
}
"""Cycles of a command besides those of its passes over the row."""


class Play:
    """Commands with their rows, and the bytes that must come."""

    def __init__(self, frame: Bench, pace: str = "full_speed"):
        gaps, stalls = GAPS[pace]
        self.frame = frame
        self.drivers = {name: frame.driver(name, gaps()) for name in INPUTS}
        self.board = frame.scoreboard("o", frame.payload_shape("o"))
        self.monitor = frame.monitor("o", self.board.got, stalls())

    def send(self, rows: Rows, expected: np.ndarray, shown: object) -> None:
        """One command of up to as many rows as there are lanes; surplus lanes work on zeros, with their own bytes."""
        (batch,) = lower(CONFIG, rows)
        self.drivers["command"].send_bits(batch.command)
        for name in ("hidden", "gamma"):
            for bits in getattr(batch, name):
                self.drivers[name].send_bits(bits)
        for index, payload in enumerate(beats(CONFIG, expected)):
            self.board.expect(payload, f"{shown}, byte {index} of {expected.shape[1]}")

    async def settle(self) -> None:
        """Wait for all bytes; the bench gives up once nothing moves."""
        while self.board.pending:
            await RisingEdge(self.frame.dut.clk)

    def send_case(self, case: Case) -> None:
        """A case of as many rows as there are lanes."""
        self.send(case.rows, case.expected, f"{case.mode} {case.rows.options}")


def lengths() -> Iterator[int]:
    """Random lengths, short ones and the longest more often than others."""
    rng = pauses.rng("lengths")
    while True:
        yield min(LONGEST, rng.choice((1, 2, 3, LONGEST, rng.randint(1, LONGEST))))


@cocotb.test(**LIMIT)
@cocotb.parametrize(pace=list(GAPS))
async def every_mode(dut, pace):
    """Modes in any order, any class of rows, any length."""
    rng = pauses.rng("cases")
    order = [*MODES, *rng.choices(MODES, k=max(0, CASES - len(MODES)))]
    rng.shuffle(order)
    cases = [random_case(mode, rng, LANES, length) for mode, length in zip(order, lengths(), strict=False)]
    async with bench(dut, SIGNATURE, drain=False) as frame:
        coverage = frame.coverage(mode.name for mode in MODES)
        play = Play(frame, pace)
        for case in cases:
            coverage.hit(case.mode)
            play.send_case(case)
        await play.settle()


@cocotb.test(**LIMIT)
async def every_length(dut):
    """From 1 to what row memory holds, at most as many as there are cases, with both ends."""
    rng = pauses.rng("cases")
    chosen = np.unique(np.linspace(1, LONGEST, min(CASES, LONGEST)).astype(int)).tolist()
    cases = [random_case(rng.choice(MODES), rng, LANES, length) for length in chosen]
    async with bench(dut, SIGNATURE, drain=False) as frame:
        play = Play(frame)
        for case in cases:
            play.send_case(case)
        await play.settle()


@cocotb.test(**LIMIT)
async def stated_corners(dut):
    """Each row in another lane, between others."""
    async with bench(dut, SIGNATURE, drain=False) as frame:
        coverage = frame.coverage(corner.name for corner in CORNERS)
        play = Play(frame)
        for index, corner in enumerate(CORNERS):
            if corner.agrees:
                coverage.hit(corner.name)
            others = np.ones((LANES, len(corner.row))).astype(corner.rows.hidden.dtype)
            others[index % LANES] = corner.rows.hidden[0]
            case = Case(replace_hidden(corner.rows, others), corner.name)
            assert np.array_equal(case.expected[index % LANES], corner.expected[0])
            play.send_case(case)
        await play.settle()


def replace_hidden(rows: Rows, hidden: np.ndarray) -> Rows:
    """The same with other rows."""
    return Rows(hidden=hidden, gamma=rows.gamma, in_scale=rows.in_scale, options=rows.options)


@cocotb.test(**LIMIT)
async def bf16_codes(dut):
    """Through the static scale 1: all of them where the cases suffice."""
    async with bench(dut, SIGNATURE, drain=False) as frame:
        play = Play(frame)
        for case in every_bf16_code(LANES, LONGEST, CASES, pauses.rng("codes")):
            play.send_case(case)
        await play.settle()


@cocotb.test(**LIMIT)
async def cycles_of_a_command(dut):
    """Every mode at full speed takes exactly its cycles, at two lengths; ``retired`` counts commands."""
    rng = pauses.rng("cases")
    async with bench(dut, SIGNATURE, drain=False) as frame:
        play = Play(frame)
        number = count(1)
        for mode in MODES:
            kind = f"{mode.options.quant_type} {'plain' if mode.gamma is None else mode.options.eps_placement}"
            for length in (1, LONGEST):
                before = resolved(dut.busy_cycles)
                play.send_case(random_case(mode, rng, LANES, length))
                await play.settle()
                await FallingEdge(dut.clk)
                assert not resolved(dut.busy)
                assert resolved(dut.retired) == next(number)
                passes = 2 if mode.gamma is None else 3
                assert resolved(dut.busy_cycles) - before == passes * length + BETWEEN[kind], (kind, length)


@cocotb.test(**LIMIT)
async def reset_in_the_middle(dut):
    """After a reset at any point of a command nothing is left of it."""
    rng = pauses.rng("cases")
    mode = next(mode for mode in MODES if mode.name == "row kernel bfloat16")
    points = sorted(rng.sample(range(1, 3 * LONGEST + 70), 6))
    async with bench(dut, SIGNATURE, drain=False) as frame:
        play = Play(frame)
        for point in points:
            play.monitor.hold()
            (batch,) = lower(CONFIG, random_case(mode, rng, LANES, LONGEST).rows)
            await break_off(dut, batch, point)
            play.monitor.release()
            assert not resolved(dut.busy)
            play.send_case(random_case(mode, rng, LANES, rng.randint(1, LONGEST)))
            await play.settle()


async def break_off(dut, batch: Batch, cycles: int) -> None:
    """Run a command for so many cycles, its last element again and again, then reset."""
    await FallingEdge(dut.clk)
    values = {"command": batch.command, "hidden": batch.hidden[-1], "gamma": batch.gamma[-1]}
    for name, bits in values.items():
        getattr(dut, f"{name}__payload").value = bits
        getattr(dut, f"{name}__valid").value = 1
    for _ in range(cycles):
        await FallingEdge(dut.clk)
    assert resolved(dut.busy)
    dut.rst.value = 1
    for name in INPUTS:
        getattr(dut, f"{name}__valid").value = 0
    for _ in range(RESET_CYCLES):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
    await FallingEdge(dut.clk)
