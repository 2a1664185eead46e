"""AIE-ML v2's conversions of floats: the benches on both simulators with the counts to reach."""

import pytest

from bitpath.rtl.aie_ml_v2.floats.layouts import FloatLanesConfig
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.kit.testplan import covers

pytestmark = pytest.mark.simulator
SEED = 20261127
CORNERS = {"float_narrow": 960, "float_widen": 16, "float_floor": 43, "fix_float": 17, "float_fix": 24}
TESTS = {name: 8 + (name in ("float_narrow", "fix_float", "float_fix")) for name in CORNERS}
"""Of a bench; those of operators that round ask the boundaries of their results too."""
ALL = 1 << 16
SWEPT = {
    "float_widen": 2 * ALL,
    "float_floor": 7 * ALL,
    "float_narrow": 700_000,
    "fix_float": 4000,
    "float_fix": 20_000,
}
"""Operands that the whole sweep has at least."""
UNITS = tuple(CORNERS)


@pytest.mark.parametrize("name", UNITS)
def test_bench(name):
    """Samples of the sweep, corners, every kind at every pace, latency, resets."""
    compared = CORNERS[name] + 4 * 20 + 20
    config = FloatLanesConfig(lanes=2)
    run_bench(name, config, "icarus", cases=20, seed=SEED, min_tests=TESTS[name], min_compared=compared)


@covers("float_floor.sweep")
@covers("float_narrow.sweep")
@covers("float_widen.sweep")
@pytest.mark.deep
@pytest.mark.parametrize("name", UNITS)
def test_every_operand(name):
    """All 65,536 codes of the widen and the floor, the latter with seven shifts; every tie of each narrow format in ten
    rounding codes."""
    run_bench(
        name,
        FloatLanesConfig(lanes=32),
        "verilator",
        cases=2000,
        seed=SEED,
        env={"BITPATH_EVERY": "1"},
        min_tests=TESTS[name],
        min_compared=SWEPT[name] // 32 + 4 * 2000,
    )
