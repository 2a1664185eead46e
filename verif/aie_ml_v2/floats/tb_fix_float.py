"""Bench of integers to FP32 with a binary point; :class:`LaneBench` has its tests."""

from bitpath.rtl.aie_ml_v2.floats.operators import FIX_FLOAT
from bitpath.verif.aie_ml_v2.floats.fix_float import CORNERS, KINDS, SWEEP, boundaries
from bitpath.verif.aie_ml_v2.floats.lane_bench import LaneBench
from bitpath.verif.kit.testplan import covers

BENCH = LaneBench(FIX_FLOAT, KINDS, CORNERS, SWEEP, [*boundaries()])
swept_operands, directed_corners, random_requests, latency, resets, range_boundaries = BENCH.tests(__name__)
covers(
    "fix_float.numbers",
    "The number is shifted to its leading bit, and up to eight bits below the significand decide the rounding",
    "Neighbours of all powers of two, ties of every length and carries into the next power, of both signs, with "
    "every shift; 0 and -2**31",
    swept_operands,
    directed_corners,
)
covers(
    "fix_float.flags",
    "SR2 holds the OR over the lanes",
    "Zero and inexact of each lane, and their OR",
    directed_corners,
    random_requests,
)
covers(
    "fix_float.stream",
    "Each request has a shift of its own",
    "Every shift in any order, full speed, gaps, stalls and both; latency of one cycle; resets",
    random_requests,
    latency,
    resets,
)
covers(
    "fix_float.boundaries",
    "The sticky bit alone decides there, and the ends of the range are rounders of their own",
    "Integers of 25 to 31 bits at a tie of even and odd numbers and of the next binade, and with one bit beside "
    "it at every distance",
    range_boundaries,
)
