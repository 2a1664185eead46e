"""Bench of BF16 and FP16 to FP32; :class:`LaneBench` has its tests."""

from bitpath.rtl.aie_ml_v2.floats.operators import FLOAT_WIDEN
from bitpath.verif.aie_ml_v2.floats.float_widen import CORNERS, KINDS, SWEEP
from bitpath.verif.aie_ml_v2.floats.lane_bench import LaneBench

BENCH = LaneBench(FLOAT_WIDEN, KINDS, CORNERS, SWEEP)
swept_operands, directed_corners, random_requests, latency, resets = BENCH.tests(__name__)
