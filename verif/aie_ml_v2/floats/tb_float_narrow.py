"""Bench of FP32 to narrower floats; :class:`LaneBench` has its tests."""

from bitpath.rtl.aie_ml_v2.floats.operators import FLOAT_NARROW
from bitpath.verif.aie_ml_v2.floats.float_narrow import KINDS, SWEEP, boundaries, corners
from bitpath.verif.aie_ml_v2.floats.lane_bench import LaneBench

BENCH = LaneBench(FLOAT_NARROW, KINDS, corners(), SWEEP, boundaries())
swept_operands, directed_corners, random_requests, latency, resets, range_boundaries = BENCH.tests(__name__)
