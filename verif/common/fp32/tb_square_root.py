"""Bench of FP32 square root; :class:`FunctionBench` has its tests."""

import cocotb

from bitpath.rtl.common.fp32.square_root import SquareRoot
from bitpath.verif.common.fp32.function_bench import CASES, LIMIT, FunctionBench
from bitpath.verif.common.fp32.functions import nearest_to_squares

BENCH = FunctionBench("square_root", SquareRoot)
boundary_cases, ties, random_operands, paced, latency, resets = BENCH.tests(__name__)


@cocotb.test(**LIMIT)
async def midpoints(dut):
    await BENCH.operands(dut, nearest_to_squares(5 * CASES))
