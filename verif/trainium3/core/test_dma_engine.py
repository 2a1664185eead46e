"""The bench of a DMA engine on Icarus, and at the machine's size; `measured` has the run on Verilator."""

import pytest

from bitpath.rtl.trainium3.core.config import DmaEngineConfig
from bitpath.rtl.trainium3.dma.config import DmaMoverConfig
from bitpath.sim.engine.runner import run_bench

pytestmark = pytest.mark.simulator
SEED = 20261126


def test_any_pace_and_resets_on_icarus():
    config = DmaEngineConfig(mover=DmaMoverConfig(descriptor_cycles=8))
    checks = {"cases": 16, "tests": "any_pace|resets", "min_tests": 5, "min_compared": 150}
    run_bench("dma_engine", config, "icarus", seed=SEED, **checks)


@pytest.mark.deep
def test_the_machine_s_engine():
    """16 queues, whole beats, and the pace of the machine."""
    config = DmaEngineConfig(queues=16, depth=4, mover=DmaMoverConfig(beat_bytes=32, address_bits=17))
    run_bench("dma_engine", config, "verilator", seed=SEED, cases=1000, min_tests=10, min_compared=20_000)
