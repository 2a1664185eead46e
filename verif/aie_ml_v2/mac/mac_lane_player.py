"""Cycle-accurate player of one multiply-accumulate lane: drives operands and accumulators, checks results when due."""

from collections.abc import Iterator
from itertools import takewhile
from random import Random

from cocotb.triggers import FallingEdge

from bitpath.golden.aie_ml_v2.declarations.modes import TIMINGS, Datapath
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.mac.config import LaneOperands
from bitpath.verif.aie_ml_v2.mac.mac import LaneCase, row_of
from bitpath.verif.kit.bench import Bench
from bitpath.verif.kit.streams import resolved

OPERAND_CYCLE = 2
"""Cycle of an instruction in which the lane takes its operands."""
ACCUMULATOR_LEAD = 2
"""Cycles from the accumulators to the result."""
OPERAND_BITS = LaneOperands.as_shape().size


def steps(case: LaneCase) -> tuple[int, int]:
    """Return the number of beats of a case, and the cycles from its first beat to the result."""
    # A block of eight takes MX9's second beat alone, whose distance to the result is MX6's.
    timing = TIMINGS[Datapath.MX6 if case.is_bfp16ebs8 else row_of(case.mode).datapath]
    return len(timing.operand_reads), timing.write - OPERAND_CYCLE


async def play(
    frame: Bench, numerics: AieNumerics, cases: list[tuple[LaneCase, int]], gaps: Iterator[bool], junk: Random
) -> None:
    """Start each case as early as its result slot allows, plus gaps, also between the beats of MX9; ignored inputs are random."""
    dut = frame.dut
    board = frame.scoreboard("o", FP32.width)
    frame.onlook("operands", "valid")
    operands: dict[int, int] = {}
    accumulators: dict[int, tuple[int | None, int | None]] = {}
    results: dict[int, tuple[int, LaneCase]] = {}
    cycle = 0
    for case, expected in cases:
        beats, latency = steps(case)
        late = sum(1 for _ in takewhile(bool, gaps)) if beats > 1 else 0
        while next(gaps) or cycle + late + latency in results:
            cycle += 1
        operands |= {cycle + k + late * (k > 0): bits for k, bits in enumerate(case.beats(junk))}
        results[cycle + late + latency] = expected, case
        accumulators[cycle + late + latency - ACCUMULATOR_LEAD] = case.acc1, case.acc2
        cycle += beats + late
    await FallingEdge(dut.clk)
    for now in range(max(results)):
        bits = operands.get(now)
        dut.valid.value = int(bits is not None)
        dut.operands.value = junk.getrandbits(OPERAND_BITS) if bits is None else bits
        for name, code in zip(("acc1", "acc2"), accumulators.get(now, (None, None)), strict=True):
            getattr(dut, name).value = _unread(junk) if code is None else code
        # Step past the rising edge that samples the inputs.
        await FallingEdge(dut.clk)
        if now + 1 in results:
            expected, case = results[now + 1]
            board.expect(expected, lambda _, case=case: case.shown(numerics))
            board.got(resolved(dut.o))
    dut.valid.value = 0


def _unread(junk: Random) -> int:
    """Return random bits for an unused accumulator, often a code that would change every sum."""
    code = junk.choice((junk.getrandbits(FP32.width), FP32.max_code, FP32.infinity_code, FP32.nan_code))
    return code ^ junk.getrandbits(1) << FP32.width - 1
