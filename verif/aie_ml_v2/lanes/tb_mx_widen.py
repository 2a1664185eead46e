"""Bench of the conversion from MX to FP32; :class:`LaneBench` has its tests."""

from bitpath.rtl.aie_ml_v2.lanes.config import MxWidenConfig
from bitpath.verif.aie_ml_v2.lanes.bench import LaneBench
from bitpath.verif.aie_ml_v2.lanes.mx_widen import MxCases
from bitpath.verif.kit.bench import config_from_environment

BENCH = LaneBench(MxCases(config_from_environment(MxWidenConfig)))
directed, random_cases, latency, resets = BENCH.tests(__name__)
