"""Bench of FP32 to integers with a binary point; :class:`LaneBench` has its tests."""

from bitpath.rtl.aie_ml_v2.floats.operators import FLOAT_FIX
from bitpath.verif.aie_ml_v2.floats.float_fix import CORNERS, KINDS, SWEEP, boundaries
from bitpath.verif.aie_ml_v2.floats.lane_bench import LaneBench

BENCH = LaneBench(FLOAT_FIX, KINDS, CORNERS, SWEEP, [*boundaries()])
swept_operands, directed_corners, random_requests, latency, resets, range_boundaries = BENCH.tests(__name__)
