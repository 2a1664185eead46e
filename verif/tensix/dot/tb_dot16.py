"""Bench of the Tensix dot product: classes, corners of every style, integers, single lanes, volume, latency, resets.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random cases of a test.
"""

import os

import cocotb
import numpy as np

from bitpath.golden.tensix import mvmul
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, PHASES, Style
from bitpath.rtl.tensix.dot.config import Dot16Config
from bitpath.rtl.tensix.dot.dot16 import Dot16
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.mismatches import Context
from bitpath.verif.kit.pipeline import PACES, Pipeline, Request
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


@cocotb.test(**LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def random_classes(dut, pace):
    sent = requests(random_cases(NUMERICS, pauses.rng("operands"), CASES))
    async with bench(dut, SIGNATURE) as frame:
        await Pipeline(frame, STAGES).exchange(sent, pace)


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


@cocotb.test(**LIMIT)
async def integers(dut):
    """Sums saturate exactly at the limits; zero is +0."""
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


@cocotb.test(**LIMIT)
async def volume(dut):
    """Whole MVMULs against the vectorised model, in every mode and phase, at full throughput."""
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


@cocotb.test(**LIMIT)
async def latency_is_the_number_of_stages(dut):
    sent = requests(random_cases(NUMERICS, pauses.rng("operands"), 20))
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).one_at_a_time(sent)


@cocotb.test(**LIMIT, skip=not STAGES)
async def resets(dut):
    """Reset with operands in every pipeline stage; a combinational unit has no reset."""
    rng = pauses.rng("operands")
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).resets(lambda: requests(random_cases(NUMERICS, rng, 2)))
