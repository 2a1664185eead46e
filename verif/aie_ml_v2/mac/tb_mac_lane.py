"""Bench of one multiply-accumulate lane: random classes, directed corners of every format, integers, volume.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random cases of a format.
"""

import os

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.aie_ml_v2 import fused_dot
from bitpath.golden.aie_ml_v2.declarations.codes import BLOCK_FORMATS, MX6, MxFormat
from bitpath.golden.aie_ml_v2.exact import Block
from bitpath.golden.arrays.codec import DTYPES
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig
from bitpath.rtl.aie_ml_v2.mac.mac_lane import MacLane
from bitpath.rtl.aie_ml_v2.mac.mac_mode import MacMode
from bitpath.verif.aie_ml_v2.mac.mac import FLOATS, INTEGERS, LaneCase, block_array, mode_of, row_of
from bitpath.verif.aie_ml_v2.mac.mac_bins import bins, hits
from bitpath.verif.aie_ml_v2.mac.mac_corners import corners
from bitpath.verif.aie_ml_v2.mac.mac_integers import integer_bins, integer_corners, integer_hits
from bitpath.verif.aie_ml_v2.mac.mac_lane_player import play
from bitpath.verif.aie_ml_v2.mac.mac_random import kind_name, kinds_of, near_codes, random_block, random_case
from bitpath.verif.common.fp32 import numbers as fp32
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment

CONFIG = config_from_environment(MacLaneConfig)
NUMERICS = CONFIG.numerics
KINDS = kinds_of(CONFIG)
SIGNATURE = MacLane(CONFIG).signature
CASES = int(os.environ.get("BITPATH_CASES", "300"))
LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}
PACES = {
    "full_speed": pauses.never,
    "gaps": lambda: pauses.bursts(6, pauses.rng("gaps")),
    "sparse": lambda: pauses.scattered(0.6, pauses.rng("gaps")),
}
MEETING = [kind for kind in (MacMode.FLOAT16, MX6) if kind in KINDS]
"""A kind with the longer latency, and one whose result would appear in the same cycle."""


def named(kinds: tuple) -> list:
    """Return the supported kinds as parameters of a test."""
    return [cocotb.Param(value=KINDS.index(kind), name=kind_name(kind)) for kind in kinds if kind in KINDS]


def answered(cases: list[LaneCase]) -> list[tuple[LaneCase, int]]:
    """Return the cases with the exact tier's results."""
    return [(case, case.result(NUMERICS)) for case in cases]


@cocotb.test(**LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def random_classes(dut, pace):
    """Formats and modes in random order."""
    rng = pauses.rng("operands")
    kinds = [kind for kind in KINDS for _ in range(CASES // len(PACES) + 1)]
    rng.shuffle(kinds)
    sent = answered([random_case(NUMERICS, rng, kind) for kind in kinds])
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await play(frame, NUMERICS, sent, PACES[pace](), pauses.rng("junk"))


@cocotb.test(**LIMIT)
@cocotb.parametrize(kind=named((*BLOCK_FORMATS.values(), *FLOATS)))
async def directed_corners(dut, kind):
    kind = KINDS[kind]
    table = list(corners(NUMERICS, pauses.rng("corners"), kind))
    traces = [case.trace(NUMERICS) for case in table]
    async with bench(dut, SIGNATURE, drain=False) as frame:
        coverage = frame.coverage(bins(NUMERICS, kind))
        for case, trace in zip(table, traces, strict=True):
            for name in hits(NUMERICS, case, trace):
                coverage.hit(name)
        sent = [(case, trace.result) for case, trace in zip(table, traces, strict=True)]
        await play(frame, NUMERICS, sent, PACES["full_speed"](), pauses.rng("junk"))


@cocotb.test(**LIMIT)
@cocotb.parametrize(mode=named(tuple(INTEGERS)))
async def integers(dut, mode):
    """Either signedness of both operands, ends of all ranges, wraps, the shift by 16, every sign."""
    mode = KINDS[mode]
    table = list(integer_corners(pauses.rng("integers"), mode))
    sent = answered(table)
    async with bench(dut, SIGNATURE, drain=False) as frame:
        coverage = frame.coverage(integer_bins(mode))
        for case in table:
            for name in integer_hits(case, case.trace(NUMERICS)):
                coverage.hit(name)
        await play(frame, NUMERICS, sent, PACES["full_speed"](), pauses.rng("junk"))


@cocotb.test(**LIMIT, skip=len(MEETING) < 2)
@cocotb.parametrize(before=range(4))
async def what_comes_with_a_reset(dut, before):
    """A float beat in the only cycle of a reset must not disturb a block pair issued right after it or some cycles later."""
    rng = pauses.rng("reset")
    lost, (case,) = random_case(NUMERICS, rng, MEETING[0]), answered([random_case(NUMERICS, rng, MEETING[1])])
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await FallingEdge(dut.clk)
        dut.valid.value, dut.operands.value = 1, lost.beats()[0]
        for _ in range(before):
            await FallingEdge(dut.clk)
            dut.valid.value = 0
        dut.rst.value = 1
        await RisingEdge(dut.clk)
        dut.rst.value = 0
        await play(frame, NUMERICS, [case], PACES["full_speed"](), pauses.rng("junk"))


@cocotb.test(**LIMIT)
@cocotb.parametrize(kind=named((*BLOCK_FORMATS.values(), *FLOATS)))
async def volume(dut, kind):
    """Long chains against the vectorised model, in which each result is the next accumulator."""
    kind = KINDS[kind]
    rng = pauses.rng(f"volume {kind_name(kind)}")
    sent = _volume(rng, kind)
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await play(frame, NUMERICS, sent, PACES["full_speed"](), pauses.rng("junk"))


def _volume(rng, kind: MxFormat | MacMode) -> list[tuple[LaneCase, int]]:
    count, steps = max(1, CASES // 16), 8
    acc = [fp32.near_one(rng) for _ in range(count)]
    sent = []
    for _ in range(steps):
        operands = [_near_operands(rng, kind) for _ in range(count)] if isinstance(kind, MxFormat) else None
        if operands is None:
            cases = _float_cases(rng, kind, count)
        else:
            cases = [LaneCase(mode=mode_of(kind, NUMERICS), x=x, y=y) for x, y in operands]
        result = _fused(kind, cases, acc)
        sent += [(_onto(case, code), new) for case, code, new in zip(cases, acc, result, strict=True)]
        acc = result
    return sent


def _onto(case: LaneCase, acc: int) -> LaneCase:
    return LaneCase(mode=case.mode, x=case.x, y=case.y, formats=case.formats, acc1=acc)


def _near_operands(rng, fmt: MxFormat) -> tuple[Block, Block]:
    return random_block(rng, fmt, rng.randint(124, 130)), random_block(rng, fmt, rng.randint(124, 130))


def _float_cases(rng, mode: MacMode, count: int) -> list[LaneCase]:
    """Return cases of one pair of formats, as arrays."""
    formats = tuple(rng.choice(row_of(mode).formats) for _ in range(2))
    cases = []
    for _ in range(count):
        draw = near_codes(rng)
        x, y = (tuple(draw(rng, fmt) for _ in range(row_of(mode).depth)) for fmt in formats)
        cases.append(LaneCase(mode=mode, x=x, y=y, formats=formats))
    return cases


def _fused(kind: MxFormat | MacMode, cases: list[LaneCase], acc: list[int]) -> list[int]:
    accumulators = np.array(acc, np.uint32).view(np.float32)
    if isinstance(kind, MxFormat):
        pairs = zip(*((case.x, case.y) for case in cases), strict=True)
        x, y = (block_array(list(blocks)) for blocks in pairs)
        name = x.fmt.name
    else:
        name = {MacMode.FLOAT16: "bf16", MacMode.FLOAT8: "fp8"}[kind]
        x, y = (
            np.array([getattr(case, side) for case in cases], f"u{fmt.width // 8}").view(DTYPES[fmt])
            for side, fmt in zip("xy", cases[0].formats, strict=True)
        )
    result = fused_dot(x, y, accumulators, fmt=name, numerics=NUMERICS)
    return result.view(np.uint32).astype(np.int64).tolist()
