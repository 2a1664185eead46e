"""Bench of FP32 square root; :class:`FunctionBench` has its tests."""

from bitpath.rtl.common.fp32.square_root import SquareRoot
from bitpath.verif.common.fp32.function_bench import FunctionBench

BENCH = FunctionBench("square_root", SquareRoot)
boundary_cases, random_operands, paced, latency, resets = BENCH.tests(__name__)
