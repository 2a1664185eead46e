"""Benches of a core and of its DMA engine, on Icarus and at larger sizes; `measured` has the engine's run on Verilator."""

import pytest

from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns.coverage import SEED as MEASURED_SEED
from bitpath.sim.engine.runner import build, run, run_bench
from bitpath.verif.trainium3.core.core_layer import LAYER

pytestmark = pytest.mark.simulator
SEED = 20261126
SMALL_MEMORIES = {"partition_bytes": 512, "hbm_bytes": 1 << 14, "step_bits": 10, "num_bits": 8}
LONG_SECONDS = 3600
"""For a core of 1,024 PEs, of which Verilator simulates some hundred cycles a second."""


@pytest.mark.deep
def test_the_measured_run_of_a_core():
    measured = UNITS["core"].covered
    run_bench("core", measured.config, "verilator", seed=MEASURED_SEED, cases=measured.cases, min_tests=14)


@pytest.mark.deep
def test_a_layer_on_a_core_of_one_quadrant():
    """From HBM back to HBM."""
    bench = "bitpath.verif.trainium3.core.tb_core_layer"
    run(build("core", LAYER, "verilator"), bench, seed=SEED, min_compared=10_000, timeout=LONG_SECONDS)
