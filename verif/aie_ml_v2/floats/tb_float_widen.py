"""Bench of BF16 and FP16 to FP32; :class:`LaneBench` has its tests."""

from bitpath.rtl.aie_ml_v2.floats.operators import FLOAT_WIDEN
from bitpath.verif.aie_ml_v2.floats.float_widen import CORNERS, KINDS, SWEEP
from bitpath.verif.aie_ml_v2.floats.lane_bench import LaneBench
from bitpath.verif.kit.testplan import covers

BENCH = LaneBench(FLOAT_WIDEN, KINDS, CORNERS, SWEEP)
swept_operands, directed_corners, random_requests, latency, resets = BENCH.tests(__name__)
covers(
    "float_widen.sweep",
    "FP16's subnormals are normalised",
    "All 65,536 codes of both formats; a sample, in the deep test all",
    swept_operands,
)
covers(
    "float_widen.corners",
    "Golden and RTL could share a mistake",
    "Stated results: one, limits, subnormals, zeros, infinities and NaN with its lowest bit",
    directed_corners,
)
covers(
    "float_widen.stream",
    "Each request carries its own control through all pipeline stages",
    "Both formats, in any order, full speed, gaps, stalls and both; latency; resets",
    random_requests,
    latency,
    resets,
)
