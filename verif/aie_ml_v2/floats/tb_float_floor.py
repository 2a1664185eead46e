"""Bench of BF16 to INT32; :class:`LaneBench` has its tests."""

from bitpath.rtl.aie_ml_v2.floats.operators import FLOAT_FLOOR
from bitpath.verif.aie_ml_v2.floats.float_floor import CORNERS, KINDS, SWEEP
from bitpath.verif.aie_ml_v2.floats.lane_bench import LaneBench
from bitpath.verif.kit.testplan import covers

BENCH = LaneBench(FLOAT_FLOOR, KINDS, CORNERS, SWEEP)
swept_operands, directed_corners, random_requests, latency, resets = BENCH.tests(__name__)
covers(
    "float_floor.sweep",
    "The range ends at -2**31 but before 2**31",
    "All 65,536 codes with seven shifts; a sample, in the deep test all",
    swept_operands,
)
covers(
    "float_floor.corners",
    "Golden and RTL could share a mistake",
    "Stated results and flags: halves of both signs, both ends of the range with several shifts, infinities, NaN, "
    "zeros, subnormals",
    directed_corners,
)
covers(
    "float_floor.stream",
    "Each request carries its own control through all pipeline stages",
    "All 64 shifts, in any order, full speed, gaps, stalls and both; latency; resets",
    random_requests,
    latency,
    resets,
)
