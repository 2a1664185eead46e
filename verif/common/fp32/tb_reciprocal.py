"""Bench of FP32 reciprocal; :class:`FunctionBench` has its tests."""

import cocotb

from bitpath.rtl.common.fp32.reciprocal import Reciprocal
from bitpath.verif.common.fp32.function_bench import LIMIT, FunctionBench
from bitpath.verif.common.fp32.functions import decisive_remainders

BENCH = FunctionBench("reciprocal", Reciprocal)
boundary_cases, ties, random_operands, paced, latency, resets = BENCH.tests(__name__)


@cocotb.test(**LIMIT)
async def single_bits_left_over(dut):
    await BENCH.operands(dut, decisive_remainders())
