"""Bench of the scalar functions on both simulators with the counts to reach."""

from functools import partial

import pytest

from bitpath.rtl.aie_ml_v2.scalar.scalar_functions import ScalarFunctionsConfig
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.common.fp32.functions import FORMAT_EDGES
from bitpath.verif.kit.testplan import covers

SEED = 20251127
bench = partial(run_bench, "scalar_functions", seed=SEED)
EDGES = len(FORMAT_EDGES)


@pytest.mark.simulator
def test_on_icarus():
    """Every exponent, midpoints, boundaries, random operands of every kind at every pace, latency, resets."""
    compared = EDGES + 2000 + 1400 + 4 * 60 + 3 * 300 + 20
    env = {"BITPATH_VOLUME": "300"}
    bench(ScalarFunctionsConfig(), "icarus", cases=60, env=env, min_tests=12, min_compared=compared)


@covers("scalar_functions.volume")
@pytest.mark.simulator
@pytest.mark.deep
def test_in_volume():
    """A million random operands of each function."""
    count = 1_000_000
    env = {"BITPATH_VOLUME": str(count)}
    bench(ScalarFunctionsConfig(), "verilator", cases=5000, env=env, min_tests=12, min_compared=3 * count)


@pytest.mark.simulator
@pytest.mark.deep
@pytest.mark.parametrize("digits", [(25,), (0, 13, 12, 0), (5, 5, 5, 5, 5)])
def test_other_stages_on_icarus(digits):
    config = ScalarFunctionsConfig(digits=digits)
    tests = "random_cases|latency|resets|midpoints"
    bench(config, "icarus", cases=40, tests=tests, min_tests=7, min_compared=4 * 40 + 40)


@pytest.mark.parametrize("digits", [(6, 12, 8), (26, -1), ()])
def test_digits_are_twenty_five(digits):
    with pytest.raises(ValueError, match="digits must be numbers from 0 up with the sum 25"):
        ScalarFunctionsConfig(digits=digits)
