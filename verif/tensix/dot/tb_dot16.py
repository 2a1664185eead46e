"""Bench of the Tensix dot product: classes, corners of every style, integers, single lanes, volume, latency, resets.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random cases of a test.
"""

import os

import cocotb
import numpy as np

from bitpath.golden.tensix import mvmul
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, PHASES, Style
from bitpath.rtl.tensix.dot.dot16 import Dot16
from bitpath.rtl.tensix.dot.layouts import Dot16Config
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.mismatches import Context
from bitpath.verif.kit.pipeline import PACES, Pipeline, Request
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tensix.dot import dot_special as special
from bitpath.verif.tensix.dot.dot import (
    FLOAT_MODES,
    INT32_MAX,
    INTEGER_MODE,
    DotCase,
    Mode,
    block_payloads,
    close_case,
    exponent_range,
    integer_case,
    random_cases,
)
from bitpath.verif.tensix.dot.dot_bins import bins, hits
from bitpath.verif.tensix.dot.dot_corners import corners

CONFIG = config_from_environment(Dot16Config)
NUMERICS = CONFIG.numerics
STAGES = CONFIG.pipeline.stages
SIGNATURE = Dot16(CONFIG).signature
CASES = int(os.environ.get("BITPATH_CASES", "500"))
LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}


def requests(cases: list[DotCase]) -> list[Request]:
    """Return the cases with the results of the exact tier."""
    return [Request(case.payload(NUMERICS), case.result(NUMERICS), shown_by(case)) for case in cases]


def shown_by(case: DotCase) -> Context:
    """Return the context of a case's result."""
    return lambda _: case.shown(NUMERICS)


@covers(
    "dot16.random",
    "Each class stresses one part of alignment and rounding",
    "Random operands of six classes (any, close, tiny, huge, cancelling, integers), every style, both widths of "
    "Dst, all phases and operations, equal the exact tier bit for bit",
)
@covers(
    "dot16.handshake",
    "A stage that advances alone, or a payload that changes while valid waits for ready, loses or repeats a result",
    "Results and their order are correct with gaps, stalls, both, and at full throughput, for 0 to 4 pipeline "
    "stages; resets",
)
@cocotb.test(**LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def random_classes(dut, pace):
    sent = requests(random_cases(NUMERICS, pauses.rng("operands"), CASES))
    async with bench(dut, SIGNATURE) as frame:
        await Pipeline(frame, STAGES).exchange(sent, pace)


@covers(
    "dot16.distance",
    "Each of the three shifters discards and rounds at its own bit positions",
    "Every alignment distance of products, of group sums and of Dst, up to a complete shift-out and beyond",
)
@covers(
    "dot16.carry_into_the_second_rounding",
    "Only the increment of the first rounding makes them a tie: its carry passes twelve bits",
    "Sums whose bits below half a unit of a 16-bit Dst are all ones, or all but one, followed by a half",
)
@covers(
    "dot16.ties",
    "tt-metal#46101 confirms the two roundings; ties round away from zero, those of sums toward +infinity",
    "Ties of both signs in the alignment of products, sums and Dst, in the second rounding of a 16-bit Dst, and "
    "in the result",
)
@covers(
    "dot16.units",
    "tt-metal#38306: rare enough that random products miss it",
    "Sums that cancel to 0, +1 and -1 unit, with and without the renormalisation bug of -1 unit",
)
@covers(
    "dot16.range",
    "There is no infinity on input, and no denormal on output",
    "Overflow and underflow of both signs, groups below exponent 1, negative exponents beside positive ones, "
    "exponent codes 255 and 31 of SrcA, SrcB and Dst as normal numbers",
)
@covers(
    "dot16.boundaries",
    "A lost sticky bit, a rounding after the range check or a tie that overflows too late shows there alone",
    "Sums of ones in all kept bits below infinity, below the smallest normal number and between: ties, and ties "
    "that one bit breaks, at every distance; the same in the alignment of Dst",
)
@covers(
    "dot16.found",
    "Random sums expose these faults in alignment distance, normalisation and final rounding too rarely",
    "Operands from a solver that detect single-bit faults which all other tests miss",
)
@covers(
    "dot16.zeros",
    "Both shift and round a Dst even if all addends are zero",
    "Operands whose field is 0 keep their exponent; products of zeros keep 97, 92, 90 and 85 in style FP16 with a "
    "32-bit Dst",
)
@cocotb.test(**LIMIT)
@cocotb.parametrize(
    mode=[cocotb.Param(value=k, name=str(mode).replace(" ", "_")) for k, mode in enumerate(FLOAT_MODES)]
)
async def directed_corners(dut, mode):
    mode = FLOAT_MODES[mode]
    table = corners(NUMERICS, pauses.rng("corners"), mode)
    traces = [case.trace(NUMERICS) for case in table]
    sent = [
        Request(case.payload(NUMERICS), trace.result, shown_by(case)) for case, trace in zip(table, traces, strict=True)
    ]
    async with bench(dut, SIGNATURE) as frame:
        coverage = frame.coverage(bins(NUMERICS, mode))
        for case, trace in zip(table, traces, strict=True):
            for name in hits(NUMERICS, case, trace):
                coverage.hit(name)
        await Pipeline(frame, STAGES).exchange(sent, "both")


@covers("dot16.integers", "Style INT8 uses the same adders with different weights")
@cocotb.test(**LIMIT)
async def integers(dut):
    """Saturation at both ends and the largest sums that just fit, in every phase; cancellation and Dst's -0 to +0;
    every bit of either source."""
    table = list(special.integers(NUMERICS, pauses.rng("integers")))
    sent = requests([case for _, case in table])
    async with bench(dut, SIGNATURE) as frame:
        coverage = frame.coverage(name for name, _ in table)
        for (name, _), request in zip(table, sent, strict=True):
            at_end = request.expected & INT32_MAX == INT32_MAX
            holds = {"saturates": at_end, "cancels": request.expected == 0, "minus zero": request.expected == 0}
            if holds.get(name.split("/")[0], True):
                coverage.hit(name)
        await Pipeline(frame, STAGES).exchange(sent, "both")


@covers(
    "dot16.add",
    "Two significands replace two products",
    "ELWADD and ELWSUB: every distance either way, ties, cancellation, zeros, largest codes, in any phase",
)
@covers(
    "dot16.multiply",
    "The Matrix unit has no other datapath for ELWMUL",
    "ELWMUL is the dot product with zeros in 15 lanes",
)
@cocotb.test(**LIMIT)
@cocotb.parametrize(operation=["additions", "products"])
async def single_lanes(dut, operation):
    """ELWADD and ELWSUB, and ELWMUL as a dot product with zeros in the other lanes."""
    table = list(getattr(special, operation)(NUMERICS, pauses.rng(operation)))
    sent = requests([case for _, case in table])
    async with bench(dut, SIGNATURE) as frame:
        coverage = frame.coverage(name for name, _ in table)
        for name, _ in table:
            coverage.hit(name)
        await Pipeline(frame, STAGES).exchange(sent, "both")


@covers("dot16.volume", "Compares with the second tier of golden, with many results at full throughput")
@cocotb.test(**LIMIT)
async def volume(dut):
    """Whole MVMULs of every style, width and phase equal the vectorised model."""
    rng = pauses.rng("volume")
    sent = []
    for mode in (*FLOAT_MODES, INTEGER_MODE):
        for phase in range(PHASES):
            for _ in range(max(1, CASES // 500)):
                sent += _mvmul(rng, mode, phase)
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).sweep(sent)


def _mvmul(rng, mode: Mode, phase: int) -> list[Request]:
    """Return an MVMUL whose rows, columns and Dst come from similar random cases."""
    low, high = (0, 0) if mode.style is Style.INT8 else exponent_range(mode, phase)
    centre = rng.randint(low, min(high, mode.dst_format.exponent_mask))

    def case() -> DotCase:
        return integer_case(rng, phase) if mode.style is Style.INT8 else close_case(rng, mode, phase, centre, centre)

    rows = np.array([case().b for _ in range(BLOCK_ROWS)], np.uint32)
    columns = np.array([case().a for _ in range(COLUMNS)], np.uint32)
    dst = np.array([[case().dst for _ in range(COLUMNS)] for _ in range(BLOCK_ROWS)], np.uint32)
    new = mvmul(dst, rows, columns.T.copy(), style=mode.style, dst32=mode.dst32, phase=phase, numerics=NUMERICS)
    payloads = block_payloads(NUMERICS, mode, phase, dst.tolist(), rows.tolist(), columns.tolist())
    cases = [
        DotCase(mode, phase, tuple(column), tuple(row), word)
        for row, words in zip(rows.tolist(), dst.tolist(), strict=True)
        for column, word in zip(columns.tolist(), words, strict=True)
    ]
    results = new.ravel().tolist()
    return [Request(*pair, shown_by(case)) for *pair, case in zip(payloads, results, cases, strict=True)]


@covers("dot16.handshake")
@covers("dot16.latency", "The Matrix unit relies on the latency, without a handshake")
@cocotb.test(**LIMIT)
async def latency_is_the_number_of_stages(dut):
    """A result appears once, exactly ``stages`` cycles after its operands."""
    sent = requests(random_cases(NUMERICS, pauses.rng("operands"), 20))
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).one_at_a_time(sent)


@covers("dot16.handshake")
@cocotb.test(**LIMIT, skip=not STAGES)
async def resets(dut):
    """Reset with operands in every pipeline stage; a combinational unit has no reset."""
    rng = pauses.rng("operands")
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).resets(lambda: requests(random_cases(NUMERICS, rng, 2)))
