"""The run that each bin list of the core's units records, since their other benches have other sizes."""

import pytest

from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns.coverage.measure import SEED
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.trainium3.measured import LONG, MEASURED

pytestmark = pytest.mark.simulator


@pytest.mark.parametrize(
    "unit", [pytest.param(unit, marks=[pytest.mark.deep] if unit in LONG else []) for unit in MEASURED]
)
def test_a_measured_run_holds_its_bins(unit):
    measured = UNITS[unit].covered
    run_bench(
        unit, measured.config, "verilator", seed=SEED, cases=measured.cases, tests=measured.tests, env=measured.env
    )
