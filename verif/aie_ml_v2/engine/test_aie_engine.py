"""Engine benches on both simulators, equal results for every number of lanes, and the check of commands."""

from functools import partial

import numpy as np
import pytest

from bitpath.rtl.aie_ml_v2.engine.command import AieEngineConfig
from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig
from bitpath.sim.engine.runner import run_bench
from bitpath.sim.flows.aie_ml_v2_matmul import ENGINES
from bitpath.verif.kit.testplan import covers

pytestmark = pytest.mark.simulator
SEED = 20251123
ALL = 25
"""Number of tests in the bench."""
SAME = "same_on_every_engine"
LANES = 64 + 32 + 64 + 64
"""Result lanes of the commands that run on every engine: INT8, FLOAT16, MX6 and MX9."""

FAST = AieEngineConfig(unit=VectorMacConfig(lanes=16))
"""16 lanes: 16-bit floats have two groups, so additions onto one accumulator stall."""
WORDS = FAST.result_depth
"""Words of the result memory, which are all compared after each run."""


bench = partial(run_bench, "aie_engine", seed=SEED, min_tests=ALL)


def result(file, config, simulator):
    """Return the lanes written by the test that runs on every engine."""
    env = {"BITPATH_RESULT": str(file)}
    bench(config, simulator, cases=0, tests=SAME, min_tests=1, min_compared=config.result_depth, env=env)
    return np.load(file)


@covers("aie_command_check.faults")
def test_every_code_is_checked():
    run_bench("aie_command_check", AieEngineConfig(), "icarus", seed=SEED, cases=100, min_tests=3, min_compared=700)


@covers("aie_engine.modes")
@covers("aie_engine.pace")
@covers("aie_engine.filled")
@pytest.mark.deep
def test_16_lanes_on_verilator():
    """All modes, programs, whole matmuls, pace, host traffic, full memories, resets."""
    bench(FAST, "verilator", cases=4, min_compared=30 * WORDS)


@covers("aie_engine.one_result")
@pytest.mark.deep
def test_one_result_from_any_number_of_lanes(tmp_path):
    """4 lanes on Icarus (about fifty cycles a second) against 16 on Verilator; `bitpath run` multiplies on 4 in its tests."""
    fast = result(tmp_path / "fast.npy", FAST, "verilator")
    assert fast.size == LANES
    assert len(np.unique(fast)) > LANES // 2
    assert np.array_equal(fast, result(tmp_path / "icarus.npy", ENGINES["icarus"], "icarus"))


@covers("aie_engine.pace")
@pytest.mark.deep
def test_the_machines_64_lanes(tmp_path):
    """A single group of lanes: exact cycles, and the same result."""
    machine = ENGINES["verilator"]
    tests = "modes|programs|throughput|reset"
    bench(machine, "verilator", cases=4, tests=tests, min_tests=13, min_compared=13 * machine.result_depth)
    fast = result(tmp_path / "fast.npy", FAST, "verilator")
    assert np.array_equal(fast, result(tmp_path / "machine.npy", machine, "verilator"))


@pytest.mark.deep
def test_volume():
    bench(FAST, "verilator", cases=100, tests="modes|programs", min_tests=8, min_compared=100 * WORDS)
