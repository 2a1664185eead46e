"""Bench of GMPOOL's column on both simulators."""

import pytest

from bitpath.golden.tensix.declarations.numerics import WORMHOLE, WORMHOLE_DOCUMENTED
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.tensix.pool.layouts import GmpoolColumnConfig
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.tensix.pool.gmpool import MODES

pytestmark = pytest.mark.simulator
SEED = 20261128
ALL = 4 * len(MODES) + 7
"""Tests of the bench with pipeline stages."""


DOCUMENTED = WORMHOLE_DOCUMENTED.numerics
"""FP16 in a 32-bit Dst as the page adds its exponents."""


def staged(stages, numerics=WORMHOLE.numerics):
    return GmpoolColumnConfig(numerics=numerics, pipeline=PipelineConfig(stages=stages))


def test_on_verilator():
    """Places, ties and scales in every mode, chains, every pace, latency, resets."""
    compared = len(MODES) * (48 + 2 * 137 + 60) + 5 * 300
    run_bench("gmpool_column", staged(3), "verilator", cases=300, seed=SEED, min_tests=ALL, min_compared=compared)


@pytest.mark.deep
@pytest.mark.parametrize("stages", range(5))
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


@pytest.mark.deep
def test_as_documented():
    """FP16's data are never those of a 32-bit Dst, so two tests leave that mode out."""
    config = staged(2, DOCUMENTED)
    run_bench("gmpool_column", config, "verilator", cases=1000, seed=SEED, min_tests=ALL - 2, min_compared=9000)
