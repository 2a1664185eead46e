"""AIE-ML v2's mover units: benches on both simulators with the counts to reach, tanh's table."""

from functools import partial
from itertools import pairwise

import pytest

from bitpath.golden.aie_ml_v2 import exact
from bitpath.rtl.aie_ml_v2.mover.layouts import NonlinearConfig, ShuffleConfig, VectorAluConfig, VectorMoveConfig
from bitpath.rtl.aie_ml_v2.mover.nonlinear import FIRST_RESULT, ONE, tanh_breakpoints, tanh_table
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.aie_ml_v2.mover.tb_nonlinear import breakpoints
from bitpath.verif.kit.testplan import covers

SEED = 20261127
bench = partial(run_bench, seed=SEED)
CORNERS = {"vector_alu": 2700, "nonlinear": 830}
"""Requests of corners in the smallest configuration."""


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("unit", "config", "cases", "tests", "ran", "compared"),
    [
        ("vector_alu", VectorAluConfig(), 10, "pairs|pace=both|latency|resets", 7, (34 + 24) * 10 + 150 + 20),
        ("vector_move", VectorMoveConfig(), 40, None, 8, 520 + 400 + 4 * 50 + 20),
        ("shuffle", ShuffleConfig(), 60, "routes|unknown|pace=both|latency", 4, 116 + 70 + 60 + 20),
        (
            "nonlinear",
            NonlinearConfig(),
            60,
            "bf16|breakpoints|boundaries|clamp|pace=both|latency",
            9,
            5 * 60 + 240 // 4 + 60 + 20,
        ),
    ],
)
def test_bench(unit, config, cases, tests, ran, compared):
    bench(unit, config, "icarus", cases=cases, tests=tests, min_tests=ran, min_compared=compared)


ALL = {
    # All pairs of bytes, corners.
    "vector_alu": (VectorAluConfig(register_bytes=64), 1024, (34 + 24) * 1024 + 4 * 1024),
    "vector_move": (VectorMoveConfig(register_bytes=64), 2000, 128 * 14 + 4 * 2000),
    # One-hot bytes.
    "shuffle": (ShuffleConfig(), 2784, 58 * 192 + 4 * 2784),
    # BF16 inputs, fractions, breakpoints, 4,096,000 random numbers.
    "nonlinear": (NonlinearConfig(lanes=16), 16_000, 4 * 4096 + 3 * 256 + 4 * 16_000),
}
"""Configuration of the machine, cases, and the least comparisons: whole ranges."""


@pytest.mark.deep
@pytest.mark.simulator
@pytest.mark.parametrize("unit", ALL)
def test_whole_ranges_on_verilator(unit):
    config, cases, compared = ALL[unit]
    bench(unit, config, "verilator", cases=cases, min_tests=8, min_compared=compared)


@pytest.mark.deep
@pytest.mark.simulator
@pytest.mark.parametrize(
    ("unit", "config"),
    [
        *(("vector_alu", VectorAluConfig(register_bytes=size)) for size in (4, 32)),
        ("vector_move", VectorMoveConfig(register_bytes=32)),
        *(("nonlinear", NonlinearConfig(lanes=lanes)) for lanes in (1, 5)),
    ],
)
def test_other_sizes_on_icarus(unit, config):
    bench(unit, config, "icarus", cases=40, min_tests=8, min_compared=500)


@covers("nonlinear.tanh")
def test_breakpoints_of_tanh():
    """The table's breakpoints are golden's, and no two lie in one segment."""
    found = list(tanh_breakpoints())
    assert found == breakpoints().tolist()
    assert len(found) == ONE - FIRST_RESULT
    steps = [result for result, _ in tanh_table()]
    assert max(after - before for before, after in pairwise(steps)) == 1
    assert (steps[0], steps[-1]) == (0, len(found))


@covers("nonlinear.tanh")
@pytest.mark.deep
def test_every_breakpoint_of_tanh_is_exact():
    """The exact tier gives a result from its breakpoint on, and the one before it until then."""
    for result, least in enumerate(tanh_breakpoints(), FIRST_RESULT + 1):
        assert (exact.tanh(least), exact.tanh(least - 1)) == (result, result - 1)
