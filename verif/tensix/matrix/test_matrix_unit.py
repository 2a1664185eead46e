"""Bench of the Matrix unit: shapes and numerics on both simulators, with minimum counts."""

from dataclasses import replace

import pytest

from bitpath.golden.tensix.declarations.numerics import BLACKHOLE, WORMHOLE, WORMHOLE_DOCUMENTED
from bitpath.rtl.tensix.matrix.instruction import MatrixUnitConfig, MoverConfig
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.kit.testplan import covers

# Bench of the mover on both simulators.


pytestmark = pytest.mark.simulator
MOVER_SEED = 20261128
TESTS = 6
PRESETS = (WORMHOLE, WORMHOLE_DOCUMENTED, BLACKHOLE)


def of(preset):
    return MoverConfig(numerics=preset.numerics)


@covers("mover.moves")
def test_mover():
    """Every fourth of the kinds, formats and widths, on Icarus, which builds it in seconds."""
    run_bench(
        "mover",
        of(WORMHOLE_DOCUMENTED),
        "icarus",
        cases=1,
        tests="latency",
        seed=MOVER_SEED,
        min_tests=1,
        min_compared=60,
    )


@pytest.mark.deep
@pytest.mark.parametrize("preset", PRESETS, ids=lambda each: each.name)
def test_long(preset):
    run_bench("mover", of(preset), "verilator", cases=2000, seed=MOVER_SEED, min_tests=TESTS, min_compared=6000)


SEED = 20251123
DOCUMENTED = replace(WORMHOLE_DOCUMENTED.numerics, row_broadcast_writes_all=True, zero_flag_disabled=True)
"""SrcA from any 8-row block, masking by style, row broadcasts that write every row, and SrcB without its zero flag."""
ALL = 29
"""Names of all tests of the bench."""


def bench(simulator, shape, numerics=WORMHOLE.numerics, *, min_tests=ALL, **checks):
    """Run the bench; it must compare at least ``min_compared`` rows of 16 words."""
    config = MatrixUnitConfig(rows=shape[0], cols=shape[1], numerics=numerics)
    run_bench("matrix_unit", config, simulator, seed=SEED, min_tests=min_tests, **checks)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("shape", "numerics", "cases", "least"),
    [
        ((2, 4), WORMHOLE.numerics, 60, 8000),
        ((2, 1), DOCUMENTED, 20, 12000),
        # The size of the machine; `bitpath run` compares a layer through it.
        ((8, 16), WORMHOLE.numerics, 60, 8000),
    ],
    ids=["2x4", "2x1-documented", "8x16"],
)
def test_on_verilator(shape, numerics, cases, least):
    """Every pace, every block, whole tiles, accesses around an instruction; `make test` runs a layer by `bitpath run`."""
    bench("verilator", shape, numerics, cases=cases, min_compared=least)


@pytest.mark.deep
def test_2x4_on_icarus():
    """Icarus runs a dozen cycles a second of this unit; the tests of `bitpath run` multiply on it too."""
    bench("icarus", (2, 4), cases=1, tests="random_stream/pace=both", min_tests=1, min_compared=50)
