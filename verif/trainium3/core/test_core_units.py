"""Benches of a core and of its DMA engine, on Icarus and at larger sizes; `measured` has the engine's run on Verilator."""

import pytest

from bitpath.rtl.trainium3.core.config import CoreConfig, DmaEngineConfig
from bitpath.rtl.trainium3.dma.dma_mover import DmaMoverConfig
from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns.coverage import SEED as MEASURED_SEED
from bitpath.sim.engine.runner import build, run, run_bench
from bitpath.verif.trainium3.core.core_layer import LAYER

pytestmark = pytest.mark.simulator
SEED = 20261126
SMALL_MEMORIES = {"partition_bytes": 512, "hbm_bytes": 1 << 14, "step_bits": 10, "num_bits": 8}
LONG_SECONDS = 3600
"""For a core of 1,024 PEs, of which Verilator simulates some hundred cycles a second."""


def test_any_pace_and_resets_on_icarus():
    config = DmaEngineConfig(mover=DmaMoverConfig(descriptor_cycles=8))
    checks = {"cases": 16, "tests": "any_pace|resets", "min_tests": 5, "min_compared": 150}
    run_bench("dma_engine", config, "icarus", seed=SEED, **checks)


@pytest.mark.deep
def test_the_machine_s_engine():
    """16 queues, whole beats, and the pace of the machine."""
    config = DmaEngineConfig(queues=16, depth=4, mover=DmaMoverConfig(beat_bytes=32, address_bits=17))
    run_bench("dma_engine", config, "verilator", seed=SEED, cases=1000, min_tests=10, min_compared=20_000)


@pytest.mark.deep
def test_programs_of_a_core_on_icarus():
    checks = {"cases": 4, "tests": "random_programs.*full_speed|queues", "min_tests": 2, "min_compared": 500}
    run_bench("core", CoreConfig(), "icarus", seed=SEED, **checks)


@pytest.mark.deep
def test_the_measured_run_of_a_core():
    measured = UNITS["core"].covered
    run_bench("core", measured.config, "verilator", seed=MEASURED_SEED, cases=measured.cases, min_tests=14)


@pytest.mark.deep
@pytest.mark.parametrize("size", [8, 16])
def test_larger_cores(size):
    config = CoreConfig(size=size, **SMALL_MEMORIES)
    run_bench("core", config, "verilator", seed=SEED, cases=100, min_tests=14, min_compared=10_000)


@pytest.mark.deep
def test_a_core_of_one_quadrant():
    """All instructions, MX and QuantizeMX too, on memories that the host fills for each test in some thousand cycles."""
    config = CoreConfig(size=32, **SMALL_MEMORIES, dot=LAYER.dot)
    checks = {"cases": 10, "min_tests": 16, "min_compared": 10_000, "timeout": LONG_SECONDS}
    run_bench("core", config, "verilator", seed=SEED, **checks)


@pytest.mark.deep
def test_a_layer_on_a_core_of_one_quadrant():
    """From HBM back to HBM."""
    bench = "bitpath.verif.trainium3.core.tb_core_layer"
    run(build("core", LAYER, "verilator"), bench, seed=SEED, min_compared=10_000, timeout=LONG_SECONDS)
