"""Bench of the RMSNorm-Quant row unit: every mode at every pace, every length, stated corners, cycles, reset.

Expected bytes come from golden before anything is driven. ``BITPATH_CASES`` sets the random commands of a test, and
its resets.
"""

import os
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import count
from random import Random
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge

from bitpath.golden.arrays.codec import format_of
from bitpath.golden.formats.catalogue import BF16, CATALOGUE, FP32
from bitpath.golden.trainium3.declarations.vector import SCALE_BYTES, DtypeMode
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.rmsnorm_quant.layouts import RmsNormQuantConfig, command_layout
from bitpath.rtl.trainium3.rmsnorm_quant.rmsnorm_quant import RmsNormQuant
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import Bench, bench, config_from_environment
from bitpath.verif.kit.packing import changed
from bitpath.verif.kit.streams import resolved
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant import MODES, SOURCES, Case, Mode, every_code, random_case
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant_bins import BINS, bins_of, directed_cases
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant_bits import cases_of_one_bit
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant_corners import CORNERS
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant_rows import Rows, beats, lower
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant_ties import case_of, tie_bins, ties

CONFIG = config_from_environment(RmsNormQuantConfig)
LANES, LONGEST = CONFIG.lanes, CONFIG.max_row_length
SIGNATURE = RmsNormQuant(CONFIG).signature
COMMAND = command_layout(CONFIG)
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
QUIET_CYCLES = 40
"""Watched after the last byte, that no other comes: more than any phase takes whose end could bring one."""


class Play:
    """Commands with their rows, and the bytes that must come."""

    def __init__(self, frame: Bench, pace: str = "full_speed"):
        gaps, stalls = GAPS[pace]
        self.frame = frame
        self.drivers = {name: frame.driver(name, gaps()) for name in INPUTS}
        self.board = frame.scoreboard("o", frame.payload_shape("o"))
        self.monitor = frame.monitor("o", self.board.got, stalls())

    def send(self, rows: Rows, expected: np.ndarray) -> None:
        """One command of up to as many rows as there are lanes; surplus lanes work on zeros, with their own bytes."""
        (batch,) = lower(CONFIG, rows)
        self.drivers["command"].send_bits(batch.command)
        for name in ("hidden", "gamma"):
            for bits in getattr(batch, name):
                self.drivers[name].send_bits(bits)
        for index, payload in enumerate(beats(CONFIG, expected)):
            self.board.expect(payload, partial(rows.shown, index))

    async def settle(self) -> None:
        """Wait for all bytes, and for no more; the bench gives up once nothing moves."""
        while self.board.pending:
            await RisingEdge(self.frame.dut.clk)
        # A surplus byte fails in the scoreboard.
        await ClockCycles(self.frame.dut.clk, QUIET_CYCLES)

    def send_case(self, case: Case) -> None:
        """A case of as many rows as there are lanes."""
        self.send(case.rows, case.expected)


def lengths() -> Iterator[int]:
    """Random lengths, short ones and the longest more often than others."""
    rng = pauses.rng("lengths")
    while True:
        yield min(LONGEST, rng.choice((1, 2, 3, LONGEST, rng.randint(1, LONGEST))))


@covers(
    "rmsnorm_quant.modes",
    "Each command carries its own mode, and every mode skips other steps",
    "Row and static scale, normalised with eps inside the root and added to it, or not at all, hidden in BF16, "
    "FP16 and FP32, gamma in BF16 and FP16, with and without a lower bound, in any order; rows of deviation 1, "
    "1e4, 1e-3, 1e-20, 120 binades wide, any bits, with a NaN or infinity, of zeros; gamma with zeros of both "
    "signs and any bits; static scales at FP32's edges; six eps; six bounds with an effect and three without",
)
@covers(
    "rmsnorm_quant.results",
    "Bins of stimulus do not show that a result occurred",
    "For each scale and each kind of normalisation, at every pace: a zero row, NaN, the largest and subnormal "
    "codes, numbers that become zero; scales at their floor and above, elements clamped by the bound, bounds "
    "above the row and without effect; elements clamped to 240; sums that overflow, means of 0, below eps and "
    "above it, eps 0 and large: bins of golden's results, hit by directed rows",
)
@covers(
    "rmsnorm_quant.surplus",
    "One byte too many in a row would show only in the next row",
    "No byte follows the last expected one within forty cycles",
)
@covers(
    "rmsnorm_quant.paces",
    "The row memory is read ahead of the output, and gamma behind its element",
    "Full speed, gaps in all inputs, stalls of the output, both",
)
@cocotb.test(**LIMIT)
@cocotb.parametrize(pace=list(GAPS))
async def every_mode(dut, pace):
    """Modes in any order, any class of rows, any length; behind rows that hit all bins of results."""
    rng = pauses.rng("cases")
    order = [*MODES, *rng.choices(MODES, k=max(0, CASES - len(MODES)))]
    rng.shuffle(order)
    cases = [
        random_case(mode, rng, LANES, length, SOURCES[index % len(SOURCES)])
        for index, (mode, length) in enumerate(zip(order, lengths(), strict=False))
    ]
    async with bench(dut, SIGNATURE, drain=False) as frame:
        modes, results = frame.coverage(mode.name for mode in MODES), frame.coverage(BINS)
        sources = frame.coverage(fmt.name for fmt in SOURCES)
        play = Play(frame, pace)
        for case in cases:
            modes.hit(case.mode)
            sources.hit(format_of(case.rows.hidden.dtype).name)
        for case in (*directed_cases(LANES, min(LONGEST, 3)), *cases):
            for name in bins_of(case):
                results.hit(name)
            play.send_case(case)
        await play.settle()


@covers("rmsnorm_quant.surplus")
@covers("rmsnorm_quant.lengths", "The last element ends each pass while earlier ones are in flight")
@cocotb.test(**LIMIT)
async def every_length(dut):
    """Rows of 1 element to the row memory's size, odd ones too; 4608 with the known answers, 16,384 in the deep tests."""
    rng = pauses.rng("cases")
    chosen = np.unique(np.linspace(1, LONGEST, min(CASES, LONGEST)).astype(int)).tolist()
    cases = [random_case(rng.choice(MODES), rng, LANES, length) for length in chosen]
    async with bench(dut, SIGNATURE, drain=False) as frame:
        play = Play(frame)
        for case in cases:
            play.send_case(case)
        await play.settle()


@covers(
    "rmsnorm_quant.corners",
    "Golden and RTL could share a mistake",
    "52 rows with their bytes stated: zeros, 1e-20, rms 1e-3 in both eps placements, eps alone, NaN and "
    "infinities in rows, gamma and scales, squares that overflow or underflow, -0 of gamma and of elements, the "
    "largest element, ties, subnormal codes, clamping, scales of 0, infinity and below 0, bounds between BF16's "
    "numbers and at the threshold",
)
@covers(
    "rmsnorm_quant.eps",
    "The vendor's kernel and its goldens differ there",
    "rms 1e-3 gives 0x33 with eps inside the root and 0x38 with eps added to it; a mean of 0 gives 0x38 and the clamp",
)
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


@covers("rmsnorm_quant.one_bit", "8-bit results hide most errors in lower bits")
@cocotb.test(**LIMIT, skip=LONGEST < 2)
async def one_bit(dut):
    """One bit that decides: which of two elements is the largest, what is above a bound, the range and the smallest
    scale, what is NaN; in every place below a tie of FP8; rows whose largest element is within a unit or so of FP32
    from half-way between two numbers of BF16, or one bit above; bounds next to half-way, static scales that are
    neighbours, squares of one bit."""
    async with bench(dut, SIGNATURE, drain=False) as frame:
        play = Play(frame, "gaps")
        for case in cases_of_one_bit(pauses.rng("cases"), LANES, LONGEST):
            play.send_case(case)
        await play.settle()


@covers("rmsnorm_quant.ties", "The byte is rounded once from FP32, whose lower bits a random row rarely needs")
@cocotb.test(**LIMIT, skip=LONGEST < 2)
@cocotb.parametrize(mode=[mode.value for mode in DtypeMode])
async def ties_of_bytes(dut, mode):
    """Elements whose products lie at a tie of their byte or beside it: about zero, the subnormal grid, the smallest
    normal and the largest number, in both dtype modes, at every distance that two BF16 numbers give."""
    found = list(ties(DtypeMode(mode), pauses.rng("ties")))
    async with bench(dut, SIGNATURE, drain=False) as frame:
        coverage = frame.coverage(tie_bins(DtypeMode(mode)))
        for each in found:
            for name in each.bins:
                coverage.hit(name)
        play = Play(frame)
        for first in range(0, len(found), LANES):
            play.send_case(case_of([*found[first : first + LANES], *found][:LANES]))
        await play.settle()


@covers(
    "rmsnorm_quant.cast",
    "Every tie of FP8, -0, subnormal codes, the clamp, infinities, NaN; hidden is rounded to BF16 before anything else",
)
@cocotb.test(**LIMIT)
@cocotb.parametrize(source=[fmt.name for fmt in SOURCES])
async def hidden_codes(dut, source):
    """All 65,536 BF16 and FP16 codes through the static scale 1, and as many of FP32, most of them next to a tie of
    BF16."""
    async with bench(dut, SIGNATURE, drain=False) as frame:
        play = Play(frame)
        for case in every_code(CATALOGUE[source], LANES, LONGEST, CASES, pauses.rng("codes")):
            play.send_case(case)
        await play.settle()


def refused_fields() -> Iterator[tuple[Fault, dict[str, Any]]]:
    """Yield faults with fields of a command that have them: of the source, the row length, the lower bound and eps."""
    yield Fault.DTYPE, {"options": {"source": 3}}
    yield Fault.COUNT, {"row_length": 0}
    for length in range(LONGEST + 1, 1 << LONGEST.bit_length()):
        yield Fault.RANGE, {"row_length": length}
    for bound in (0, FP32.sign_mask, FP32.sign_mask | 1, FP32.infinity_code, FP32.nan_code, 0xBF800000, 0xFFFFFFFF):
        yield Fault.RANGE, {"options": {"static": 0, "has_lower_bound": 1, "lower_bound": bound}}
    for eps in (BF16.sign_mask | 1, BF16.infinity_code, BF16.nan_code, 0xBF80, 0xFFFF):
        yield Fault.RANGE, {"options": {"quant_only": 0, "eps": eps}}
    yield Fault.DTYPE, {"row_length": 0, "options": {"source": 3}}
    yield Fault.COUNT, {"row_length": 0, "options": {"quant_only": 0, "eps": 0xFFFF}}


@covers("rmsnorm_quant.refused", "A row without an element loaded for ever")
@cocotb.test(**LIMIT)
async def refused_commands(dut):
    """The source that there is not, row lengths of 0 and beyond the row memory, lower bounds that are not positive and
    finite, eps that is negative or not finite, each between commands."""
    rng = pauses.rng("cases")
    async with bench(dut, SIGNATURE, drain=False) as frame:
        coverage = frame.coverage(["DTYPE", "COUNT", "RANGE"])
        play = Play(frame)
        number = count(1)
        for fault, fields in refused_fields():
            case = random_case(rng.choice(MODES), rng, LANES, rng.randint(1, min(LONGEST, 4)))
            (batch,) = lower(CONFIG, case.rows)
            for _ in range(rng.randint(1, 2)):
                play.drivers["command"].send_bits(changed(COMMAND, batch.command, fields))
            play.send_case(case)
            await play.settle()
            await FallingEdge(dut.clk)
            assert resolved(dut.fault) == fault.value, fields
            assert not resolved(dut.busy)
            assert resolved(dut.retired) == next(number)
            coverage.hit(fault.name)
            dut.clear.value = 1
            await RisingEdge(dut.clk)
            dut.clear.value = 0
            await FallingEdge(dut.clk)
            assert resolved(dut.fault) == Fault.NONE.value
            await RisingEdge(dut.clk)


def kind_of(mode: Mode) -> str:
    return f"{mode.options.quant_type} {'plain' if mode.gamma is None else mode.options.eps_placement}"


MODES_OF = {kind: [mode for mode in MODES if kind_of(mode) == kind] for kind in BETWEEN}


def cycles_of(mode: Mode, length: int) -> int:
    """A command's cycles at full speed."""
    return (2 if mode.gamma is None else 3) * length + BETWEEN[kind_of(mode)]


@covers("rmsnorm_quant.surplus")
@covers("rmsnorm_quant.cycles", "The cycles of a row are part of the contract")
@cocotb.test(**LIMIT)
async def cycles_of_a_command(dut):
    """Every mode takes exactly its cycles, at one element and at the longest row; busy, and commands counted."""
    rng = pauses.rng("cases")
    async with bench(dut, SIGNATURE, drain=False) as frame:
        play = Play(frame)
        number = count(1)
        for mode in MODES:
            kind = kind_of(mode)
            for length in (1, LONGEST):
                before = resolved(dut.busy_cycles)
                play.send_case(random_case(mode, rng, LANES, length))
                await play.settle()
                await FallingEdge(dut.clk)
                assert not resolved(dut.busy)
                assert resolved(dut.retired) == next(number)
                assert resolved(dut.busy_cycles) - before == cycles_of(mode, length), (kind, length)


def moments(mode: Mode) -> dict[str, tuple[str, int]]:
    """Points at which a command of the longest rows is reset: a counter, and the count that triggers it."""
    output = LONGEST if mode.options.static else LONGEST + SCALE_BYTES
    found = {"loading": ("hidden", LONGEST), "computing": ("after hidden", BETWEEN["static plain"] - 10)}
    if mode.gamma is not None:
        found |= {"normalising": ("gamma", LONGEST), "scaling": ("after gamma", BETWEEN["static plain"] - 10)}
    return found | {"byte waits": ("waits", 5), "bytes taken": ("o", output - 1)}


@covers(
    "rmsnorm_quant.reset",
    "A sum, a largest value, an element on its way to the memory or a byte on its way out that outlives a reset "
    "spoils the next row",
    "Commands of real rows of each of six kinds, row and static, with eps inside the root, added to it, and "
    "plain, broken off in each pass, between passes, while the first byte waits and after some have been taken; "
    "nothing is busy or offered then, and the next command of any mode brings golden's bytes in as many cycles as "
    "ever",
)
@cocotb.test(**LIMIT)
async def reset_in_the_middle(dut):
    """After a reset at any point of a command of any kind, of all where the cases suffice, nothing is left of it: the next
    command's bytes are golden's, and it takes its cycles."""
    rng = pauses.rng("cases")
    plans = [
        (kind, name, counter, most)
        for kind in BETWEEN
        for name, (counter, most) in moments(rng.choice(MODES_OF[kind])).items()
        if most
    ]
    plans = rng.sample(plans, min(len(plans), CASES))
    async with bench(dut, SIGNATURE, drain=False) as frame:
        coverage = frame.coverage(f"{kind}/{name}" for kind, name, _, _ in plans)
        play = Play(frame)
        for kind, name, counter, most in plans:
            play.monitor.hold()
            case = random_case(rng.choice(MODES_OF[kind]), rng, LANES, LONGEST)
            await break_off(frame, case, counter, rng.randint(1, most), rng)
            coverage.hit(kind, name)
            await FallingEdge(dut.clk)
            assert not resolved(dut.busy), (kind, name)
            assert not resolved(dut.o__valid), (kind, name)
            assert not resolved(dut.retired)
            play.monitor.release()
            mode, length = rng.choice(MODES), rng.randint(1, LONGEST)
            play.send_case(random_case(mode, rng, LANES, length))
            await play.settle()
            assert resolved(dut.retired) == 1
            assert resolved(dut.busy_cycles) == cycles_of(mode, length), (kind, name)


async def break_off(frame: Bench, case: Case, counter: str, times: int, rng: Random) -> None:
    """Run a command until ``counter`` reaches ``times``, then reset; an output byte that must wait is never taken."""
    dut = frame.dut
    (batch,) = lower(CONFIG, case.rows)
    payloads = {"command": [batch.command], "hidden": batch.hidden, "gamma": batch.gamma}
    stalls = pauses.scattered(rng.choice((0.0, 0.5)), rng)
    counts = Counter()
    await ClockCycles(dut.clk, 2)  # by then the monitor has let go of ready
    while counts[counter] < times:
        for name, bits in payloads.items():
            offered = counts[name] < len(bits)
            getattr(dut, f"{name}__valid").value = int(offered)
            getattr(dut, f"{name}__payload").value = bits[counts[name]] if offered else 0
        dut.o__ready.value = int(counter != "waits" and not next(stalls))
        await FallingEdge(dut.clk)
        # The command is taken, and its valid is low again.
        assert not counts["command"] or resolved(dut.busy), "an idle unit in the middle of a command"
        counts.update(f"after {name}" for name, bits in payloads.items() if counts[name] == len(bits))
        counts["waits"] += resolved(dut.o__valid) and not resolved(dut.o__ready)
        counts.update(
            name
            for name in (*payloads, "o")
            if resolved(getattr(dut, f"{name}__valid")) and resolved(getattr(dut, f"{name}__ready"))
        )
        await RisingEdge(dut.clk)
    await frame.reset()
