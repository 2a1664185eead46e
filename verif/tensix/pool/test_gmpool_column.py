"""Bench of GMPOOL's column on both simulators, with known answers."""

import numpy as np
import pytest

from bitpath.golden.tensix.declarations.formats import COLUMNS
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.tensix.pool.config import GmpoolColumnConfig
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.tensix.pool.gmpool import MODES

pytestmark = pytest.mark.simulator
SEED = 20261128
ALL = 3 * len(MODES) + 7
"""Tests of the bench with pipeline stages."""


def staged(stages):
    return GmpoolColumnConfig(pipeline=PipelineConfig(stages=stages))


def test_on_verilator():
    """Places, ties and scales in every mode, chains, every pace, latency, resets."""
    compared = len(MODES) * (48 + 2 * 137 + 60) + 5 * 300
    run_bench("gmpool_column", staged(3), "verilator", cases=300, seed=SEED, min_tests=ALL, min_compared=compared)


@pytest.mark.parametrize("stages", [0, *(pytest.param(stages, marks=pytest.mark.deep) for stages in (1, 2, 3, 4))])
def test_on_icarus(stages):
    tests = "argmax|chains|pace=both|latency"
    config = staged(stages)
    run_bench("gmpool_column", config, "icarus", cases=60, tests=tests, seed=SEED, min_tests=15, min_compared=1600)


@pytest.mark.deep
@pytest.mark.parametrize("stages", [0, 1, 2, 4])
def test_other_depths(stages):
    config = staged(stages)
    tests = ALL - (stages == 0)
    run_bench("gmpool_column", config, "verilator", cases=2000, seed=SEED, min_tests=tests, min_compared=13_000)


@pytest.mark.parametrize("archive", ["tensix_elw.npz", "tensix_bh_elw.npz"])
def test_known_answers(replay, kat, archive):
    """Every column of every GMPOOL."""
    arrays = kat(archive)
    columns = COLUMNS * np.count_nonzero(arrays["op_names"][arrays["op"]] == "GMPOOL")
    bench = "tensix.pool.tb_gmpool_column_known_answers"
    env = {"BITPATH_ARCHIVE": archive}
    result = replay("gmpool_column", staged(3), bench, env=env, seed=SEED, min_tests=1)
    assert result.compared == columns > 0
