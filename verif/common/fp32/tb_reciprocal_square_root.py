"""Bench of FP32 reciprocal square root; :class:`FunctionBench` has its tests."""

import cocotb

from bitpath.rtl.common.fp32.reciprocal_square_root import ReciprocalSquareRoot
from bitpath.verif.common.fp32.function_bench import CASES, LIMIT, FunctionBench
from bitpath.verif.common.fp32.functions import nearest_to_midpoints

BENCH = FunctionBench("reciprocal_square_root", ReciprocalSquareRoot)
boundary_cases, ties, random_operands, paced, latency, resets = BENCH.tests(__name__)


@cocotb.test(**LIMIT)
async def midpoints(dut):
    await BENCH.operands(dut, nearest_to_midpoints(10 * CASES))
