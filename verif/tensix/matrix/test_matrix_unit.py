"""Bench of the Matrix unit: shapes and numerics on both simulators, and known answers, with minimum counts."""

from dataclasses import replace

import pytest

from bitpath.golden.tensix.declarations.numerics import WORMHOLE, WORMHOLE_DOCUMENTED
from bitpath.rtl.tensix.matrix.config import MatrixUnitConfig
from bitpath.sim.engine.runner import run_bench

pytestmark = pytest.mark.simulator
SEED = 20251123
DOCUMENTED = replace(WORMHOLE_DOCUMENTED.numerics, row_broadcast_writes_all=True, zero_flag_disabled=True)
"""SrcA from any 8-row block, masking by style, row broadcasts that write every row, and SrcB without its zero flag."""
ALL = 17
"""Names of all tests of the bench."""
SOME = "every_kind|random_stream.*both|hazards|hand_over|undefined"
"""Tests of `make test`; the deep tests have every pace, every block, whole tiles and accesses around an instruction."""
ROWS_ANSWERED = {"products": 559 * 8, "elementwise_and_pooling": 396 * 8}
"""Number of 16-word rows with known answers."""


def bench(simulator, shape, numerics=WORMHOLE.numerics, *, min_tests=ALL, **checks):
    """Run the bench; it must compare at least ``min_compared`` rows of 16 words."""
    config = MatrixUnitConfig(rows=shape[0], cols=shape[1], numerics=numerics)
    run_bench("matrix_unit", config, simulator, seed=SEED, min_tests=min_tests, **checks)


@pytest.mark.parametrize(
    ("shape", "numerics", "cases", "tests", "count", "least"),
    [
        ((2, 4), WORMHOLE.numerics, 10, SOME, 8, 9000),
        pytest.param((2, 4), WORMHOLE.numerics, 60, None, ALL, 8000, marks=pytest.mark.deep),
        pytest.param((2, 1), DOCUMENTED, 20, None, ALL, 12000, marks=pytest.mark.deep),
        # The size of the machine; `bitpath run` compares a layer through it.
        pytest.param((8, 16), WORMHOLE.numerics, 60, None, ALL, 8000, marks=pytest.mark.deep),
    ],
    ids=["2x4-some", "2x4", "2x1-documented", "8x16"],
)
def test_on_verilator(shape, numerics, cases, tests, count, least):
    bench("verilator", shape, numerics, cases=cases, tests=tests, min_tests=count, min_compared=least)


@pytest.mark.deep
def test_2x4_on_icarus():
    """Icarus runs a dozen cycles a second of this unit; the tests of `bitpath run` multiply on it too."""
    bench("icarus", (2, 4), cases=1, tests="random_stream/pace=both", min_tests=1, min_compared=50)


@pytest.mark.parametrize("shape", [(2, 4), pytest.param((8, 16), marks=pytest.mark.deep)], ids=["2x4", "8x16"])
@pytest.mark.parametrize("test", ROWS_ANSWERED)
def test_known_answers(replay, test, shape):
    """71,552 outputs of MVMUL, and 50,688 of the element-wise operations and GAPOOL."""
    config, bench = MatrixUnitConfig(rows=shape[0], cols=shape[1]), "tensix.matrix.tb_matrix_unit_known_answers"
    result = replay("matrix_unit", config, bench, seed=1, tests=rf"\.{test}$")
    assert result.compared == ROWS_ANSWERED[test]
