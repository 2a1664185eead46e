"""Bench of integers to FP32 with a binary point; :class:`LaneBench` has its tests."""

from bitpath.rtl.aie_ml_v2.floats.operators import FIX_FLOAT
from bitpath.verif.aie_ml_v2.floats.fix_float import CORNERS, KINDS, SWEEP, boundaries
from bitpath.verif.aie_ml_v2.floats.lane_bench import LaneBench

BENCH = LaneBench(FIX_FLOAT, KINDS, CORNERS, SWEEP, [*boundaries()])
swept_operands, directed_corners, random_requests, latency, resets, range_boundaries = BENCH.tests(__name__)
