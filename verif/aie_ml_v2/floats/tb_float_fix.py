"""Bench of FP32 to integers with a binary point; :class:`LaneBench` has its tests."""

from bitpath.rtl.aie_ml_v2.floats.operators import FLOAT_FIX
from bitpath.verif.aie_ml_v2.floats.float_fix import CORNERS, KINDS, SWEEP, boundaries
from bitpath.verif.aie_ml_v2.floats.lane_bench import LaneBench
from bitpath.verif.kit.testplan import covers

BENCH = LaneBench(FLOAT_FIX, KINDS, CORNERS, SWEEP, [*boundaries()])
swept_operands, directed_corners, random_requests, latency, resets, range_boundaries = BENCH.tests(__name__)
covers(
    "float_fix.numbers",
    "Guard and sticky bit decide the rounding, and a carry may leave 32 bits",
    "Every exponent with fractions at its ends and four shifts; near the integers every tie and its neighbours "
    "with three shifts; both signs",
    swept_operands,
    directed_corners,
)
covers(
    "float_fix.limits",
    "Of magnitude 2**31 only the negative integer fits",
    "-2**31 is exact, 2**31 saturates, infinities by their sign, NaN to the largest integer; subnormals round to 0",
    swept_operands,
    directed_corners,
)
covers(
    "float_fix.flags",
    "A kernel reads the flags of the whole instruction",
    "Zero, invalid, inexact and huge in every combination that occurs, and their OR over the lanes",
    directed_corners,
    random_requests,
)
covers(
    "float_fix.stream",
    "Each request has a shift of its own",
    "Every shift in any order, full speed, gaps, stalls and both; latency of one cycle; resets",
    random_requests,
    latency,
    resets,
)
covers(
    "float_fix.boundaries",
    "The sticky bit alone decides there, and the ends of the range are rounders of their own",
    "Numbers at a tie between two integers, and with one bit beside it at every distance that FP32 has",
    range_boundaries,
)
