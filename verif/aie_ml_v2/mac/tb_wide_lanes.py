"""Bench of a pair of lanes: 64 bits in both widths, 32 bits as two lanes, in any order; chains of accumulations.

Results of 64 bits are exact and wrap, so that none is rounded; floats are rounded in a lane of 32 bits, as in ``mac_lane``.

Expected values come from golden before anything is driven.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from random import Random

import cocotb
from cocotb.triggers import FallingEdge

from bitpath.rtl.aie_ml_v2.mac.wide_lanes import LaneWidth, WideLanes, WideLanesConfig
from bitpath.verif.aie_ml_v2.mac.mac import FLOATS, kind_name, kinds_of, random_case
from bitpath.verif.aie_ml_v2.mac.mac_corners import bins, corners, hits
from bitpath.verif.aie_ml_v2.mac.wide_lanes import (
    OPERAND_BITS,
    WIDTHS,
    PairCase,
    WideCase,
    random_wide,
    wide_bins,
    wide_corners,
    wide_hits,
)
from bitpath.verif.kit.unit_bench import Bench, UnitBench, cases, covers, cross, pauses, resolved

BENCH = UnitBench(WideLanes, WideLanesConfig, ms=100)
CONFIG = BENCH.config
SIGNATURE = BENCH.signature
NUMERICS = CONFIG.numerics
KINDS = kinds_of(CONFIG.lane)
CASES = cases(200)
PACES = {"full_speed": pauses.never, "gaps": lambda: pauses.bursts(6, pauses.rng("gaps"))}
LEAD = 2
"""Cycles from the accumulators to the result."""
CHAIN = 12
"""Instructions of a chain."""


async def play(frame: Bench, cases: list[WideCase | PairCase], gaps: Iterator[bool], junk: Random) -> None:
    """Start each case as early as its result slot allows, plus gaps; inputs that are not read are random."""
    dut = frame.dut
    board = frame.scoreboard("o", 64)
    frame.onlook("operands", "valid")
    operands: dict[int, dict[str, int]] = {}
    accumulators: dict[int, tuple[int | None, int | None]] = {}
    results: dict[int, WideCase | PairCase] = {}
    cycle = 0
    for case in cases:
        beats, latency = case.timing
        while next(gaps) or cycle + latency in results:
            cycle += 1
        operands |= {cycle + k: fields for k, fields in enumerate(case.beats(junk))}
        results[cycle + latency] = case
        accumulators[cycle + latency - LEAD] = case.acc1, case.acc2
        cycle += beats
    await FallingEdge(dut.clk)
    for now in range(max(results)):
        idle = {
            "width": junk.randrange(3),
            "negated": junk.getrandbits(4),
            "operands": junk.getrandbits(2 * OPERAND_BITS),
        }
        dut.valid.value = int(now in operands)
        for name, value in operands.get(now, idle).items():
            getattr(dut, name).value = value
        for name, code in zip(("acc1", "acc2"), accumulators.get(now, (None, None)), strict=True):
            getattr(dut, name).value = junk.getrandbits(64) if code is None else code
        await FallingEdge(dut.clk)
        if now + 1 in results:
            board.compare(resolved(dut.o), results[now + 1].result(NUMERICS), str(results[now + 1]))
    dut.valid.value = 0


def drawn(rng: Random) -> WideCase | PairCase:
    """Return an instruction of any width and mode."""
    if rng.random() < 0.5:
        return random_wide(rng, rng.choice(list(WIDTHS)))
    kind = rng.choice(KINDS)
    return PairCase(lower=random_case(NUMERICS, rng, kind), upper=random_case(NUMERICS, rng, kind))


@BENCH.test(
    "wide_lanes.order",
    "Both lanes share their registers between the widths; 32-bit results must stay those of `mac_lane`",
    pace=list(PACES),
)
async def random_order(frame, pace):
    """64 bits in both widths and all 32-bit modes in random order, at full speed and with gaps; unread inputs are
    random."""
    rng = pauses.rng("operands")
    cases = [drawn(rng) for _ in range(CASES)]
    coverage = frame.coverage([width.name for width in LaneWidth])
    for case in cases:
        coverage.hit((case.lane_width if isinstance(case, WideCase) else LaneWidth.BITS32).name)
    await play(frame, cases, PACES[pace](), pauses.rng("junk"))


@BENCH.test(
    "wide_lanes.floats",
    "Special values and borders of one lane must not reach its neighbour",
    kind=[cocotb.Param(value=each, name=kind_name(each)) for each in KINDS if each in FLOATS],
)
async def corners_of_floats(frame, kind):
    """Corners of floats, boundaries of the rounding among them, in either lane beside any others in the other lane."""
    rng = pauses.rng("corners")
    lower = list(corners(NUMERICS, rng, kind))
    lanes = {"lower": lower, "upper": rng.sample(lower, len(lower))}
    coverage = frame.coverage(cross(lanes, bins(NUMERICS, kind)))
    for lane, own in lanes.items():
        for name in chain(*(hits(NUMERICS, case, case.trace(NUMERICS)) for case in own)):
            coverage.hit(lane, name)
    pairs = [PairCase(lower=low, upper=high) for low, high in zip(*lanes.values(), strict=True)]
    await play(frame, pairs, PACES["full_speed"](), pauses.rng("junk"))


@covers(
    "wide_lanes.corners",
    "A double word's low half is unsigned, its high half has the sign of x",
    "All signs, both ends of each range, every bit of x in every product with either sign, every negation, wraps",
)
@BENCH.test(
    "wide_lanes.carry",
    "The carry and acc1's high bits pass from lane to lane in one cycle",
    "Carries and borrows across bit 32, accumulators on both sides of it, bits that shift16 moves across it and out",
    width=[cocotb.Param(value=each, name=each.name) for each in WIDTHS],
)
async def directed_corners(frame, width):
    """All signs, both ends, every single bit of x in every product, carries and borrows across bit 32, wraps, shifts by 16."""
    table = list(wide_corners(pauses.rng("corners"), width))
    coverage = frame.coverage(wide_bins(width))
    for case in table:
        for name in wide_hits(case):
            coverage.hit(name)
    await play(frame, table, PACES["full_speed"](), pauses.rng("junk"))


@BENCH.test(
    "wide_lanes.chains",
    "Products of 32 bits by 32 are built this way",
    width=[cocotb.Param(value=each, name=each.name) for each in WIDTHS],
)
async def chains(frame, width):
    """Chains whose results are the next accumulators, with shift16."""
    rng = pauses.rng("chains")
    cases = []
    for _ in range(max(1, CASES // CHAIN)):
        acc = rng.getrandbits(64)
        for _ in range(CHAIN):
            case = replace(random_wide(rng, width), acc1=acc)
            acc = case.result(NUMERICS)
            cases.append(case)
    await play(frame, cases, PACES["full_speed"](), pauses.rng("junk"))
