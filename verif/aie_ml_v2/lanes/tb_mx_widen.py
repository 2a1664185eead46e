"""Bench of the conversion from MX to FP32; :class:`LaneBench` has its tests."""

from bitpath.rtl.aie_ml_v2.lanes.layouts import MxWidenConfig
from bitpath.verif.aie_ml_v2.lanes.bench import LaneBench
from bitpath.verif.aie_ml_v2.lanes.mx_widen import MxCases
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.testplan import covers

BENCH = LaneBench(MxCases(config_from_environment(MxWidenConfig)))
directed, random_cases, latency, resets = BENCH.tests(__name__)
covers(
    "mx_widen.codes",
    "A code's leading bit sets the exponent, and the most negative code has a leading bit of its own",
    "Every code of the three formats with either shift bit at 19 exponents: those at which codes underflow or "
    "overflow, and four between",
    directed,
)
covers(
    "mx_widen.specials",
    "No FP32 subnormals come out, and a NaN block has no number",
    "Zeros of both signs below the normal numbers, infinity from the most negative code, NaN blocks, and exponent "
    "255 as an ordinary one",
    directed,
)
covers(
    "mx_widen.stream",
    "Each request has a format of its own",
    "Blocks of the three formats by turns, full speed, gaps, stalls and both; latency of one cycle; resets",
    random_cases,
    latency,
    resets,
)
