"""Bench of the conversion of FP32 to integers; :class:`LaneBench` has its tests."""

from bitpath.rtl.aie_ml_v2.lanes.config import FixLanesConfig
from bitpath.verif.aie_ml_v2.lanes.bench import LaneBench
from bitpath.verif.aie_ml_v2.lanes.fix_lanes import FLOAT_FIX, FixCases, floats
from bitpath.verif.kit.bench import config_from_environment

BENCH = LaneBench(FixCases(FLOAT_FIX, config_from_environment(FixLanesConfig), floats))
directed, random_cases, latency, resets = BENCH.tests(__name__)
