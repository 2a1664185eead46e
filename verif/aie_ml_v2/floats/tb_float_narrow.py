"""Bench of FP32 to narrower floats; :class:`LaneBench` has its tests."""

from bitpath.rtl.aie_ml_v2.floats.operators import FLOAT_NARROW
from bitpath.verif.aie_ml_v2.floats.float_narrow import KINDS, SWEEP, boundaries, corners
from bitpath.verif.aie_ml_v2.floats.lane_bench import LaneBench
from bitpath.verif.kit.testplan import covers

BENCH = LaneBench(FLOAT_NARROW, KINDS, corners(), SWEEP, boundaries())
swept_operands, directed_corners, random_requests, latency, resets, range_boundaries = BENCH.tests(__name__)
covers(
    "float_narrow.sweep",
    "Each rounding code differs from the others only in a few of these",
    "Each exponent of seven formats with fractions at, below and above ties, in ten rounding codes and four "
    "saturations; a sample, in the deep test all",
    swept_operands,
)
covers(
    "float_narrow.corners",
    "Golden and RTL could share a wrong table",
    "Stated results and flags: ties of both signs in ten codes; the largest number, the midpoint above it and "
    "infinity in four saturations; the smallest normal number and what rounds to it; the smallest number and half "
    "of it; NaN; shifts",
    directed_corners,
)
covers(
    "float_narrow.boundaries",
    "The sticky bit alone decides there, and the ends of the range are rounders of their own",
    "Ties at the ends of seven formats' subnormal and normal numbers and between, to nearest even, and results in "
    "a directed rounding: each with one bit beside it at every distance, against the exact result",
    range_boundaries,
)
covers(
    "float_narrow.stream",
    "Each request carries its own control through all pipeline stages",
    "Every format in every rounding and saturation, with any shift, in any order, full speed, gaps, stalls and "
    "both; latency; resets",
    random_requests,
    latency,
    resets,
)
