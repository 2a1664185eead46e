"""Bench of the conversion of integers to FP32; :class:`LaneBench` has its tests."""

from bitpath.rtl.aie_ml_v2.lanes.config import FixLanesConfig
from bitpath.verif.aie_ml_v2.lanes.bench import LaneBench
from bitpath.verif.aie_ml_v2.lanes.fix_lanes import FIX_FLOAT, FixCases, integers
from bitpath.verif.kit.bench import config_from_environment

BENCH = LaneBench(FixCases(FIX_FLOAT, config_from_environment(FixLanesConfig), integers))
directed, random_cases, latency, resets = BENCH.tests(__name__)
