"""Bench of FP32 reciprocal square root: boundary cases, random operands in volume, gaps and stalls, latency, resets.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the payloads of a paced
test, and the results at either kind of rounding edge; ``BITPATH_VOLUME`` the random operands.
"""

import os

import cocotb

from bitpath.rtl.common.fp32.reciprocal_square_root import ReciprocalSquareRoot
from bitpath.verif.common.fp32.function_bench import FunctionBench
from bitpath.verif.common.fp32.functions import nearest_to_midpoints
from bitpath.verif.kit.pipeline import PACES

BENCH = FunctionBench("reciprocal_square_root", ReciprocalSquareRoot)
CASES = int(os.environ.get("BITPATH_CASES", "50"))
VOLUME = int(os.environ.get("BITPATH_VOLUME", "1000"))
LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}


@cocotb.test(**LIMIT)
async def boundary_cases(dut):
    await BENCH.boundary_cases(dut, CASES)


@cocotb.test(**LIMIT)
async def random_operands(dut):
    await BENCH.random_operands(dut, VOLUME)


@cocotb.test(**LIMIT)
async def midpoints(dut):
    await BENCH.operands(dut, nearest_to_midpoints(10 * CASES))


@cocotb.test(**LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def paced(dut, pace):
    await BENCH.paced(dut, pace, CASES)


@cocotb.test(**LIMIT)
async def latency(dut):
    await BENCH.latency(dut)


@cocotb.test(**LIMIT)
async def resets(dut):
    await BENCH.resets(dut)
