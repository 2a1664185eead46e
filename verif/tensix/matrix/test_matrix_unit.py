"""Bench of the Matrix unit: shapes and numerics on both simulators, and known answers, with minimum counts."""

from dataclasses import replace

import numpy as np
import pytest

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, WORMHOLE_DOCUMENTED
from bitpath.rtl.tensix.matrix.config import MatrixUnitConfig
from bitpath.sim.engine.runner import run_bench

pytestmark = pytest.mark.simulator
SEED = 20251123
DOCUMENTED = replace(WORMHOLE_DOCUMENTED.numerics, row_broadcast_writes_all=True, zero_flag_disabled=True)
"""SrcA from any 8-row block, masking by style, row broadcasts that write every row, and SrcB without its zero flag."""
ALL = 19
"""Names of all tests of the bench."""
ANSWERS = {"products": "tensix_mvmul.npz", "elementwise_and_pooling": "tensix_elw.npz"}


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


@pytest.mark.deep
@pytest.mark.parametrize("shape", [(2, 4), (8, 16)], ids=["2x4", "8x16"])
@pytest.mark.parametrize("test", ANSWERS)
def test_known_answers(replay, kat, test, shape):
    """Every row of every case, but for those of GMPOOL, which the unit does not have."""
    archive = kat(ANSWERS[test])
    cases = len(archive["style"])
    if "op" in archive:
        cases -= np.count_nonzero(archive["op_names"][archive["op"]] == "GMPOOL")
    config, bench = MatrixUnitConfig(rows=shape[0], cols=shape[1]), "tensix.matrix.tb_matrix_unit_known_answers"
    result = replay("matrix_unit", config, bench, seed=1, tests=rf"\.{test}$")
    assert result.compared == BLOCK_ROWS * cases
