"""The run that each bin list of the core's units records, since their other benches have other sizes."""

import pytest

from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns.coverage.measure import SEED
from bitpath.sim.engine.runner import run_bench

pytestmark = pytest.mark.simulator
MEASURED = (
    "access_walker",
    "dge",
    "psum_memory",
    "sbuf",
    "indirect_offsets",
    "dma_cast",
    "read_add_write",
    "dma_queues",
    "dma_mover",
    "dma_transpose",
    "fp32_passes",
    "background_transpose",
    "tensor_issue",
    "activation2_lane",
)


@pytest.mark.parametrize("unit", MEASURED)
def test_a_measured_run_holds_its_bins(unit):
    measured = UNITS[unit].covered
    run_bench(
        unit, measured.config, "verilator", seed=SEED, cases=measured.cases, tests=measured.tests, env=measured.env
    )
