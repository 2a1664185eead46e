"""Benches of the pair of lanes."""

import pytest

from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig, MacMode
from bitpath.rtl.aie_ml_v2.mac.wide_lanes import WideLanesConfig
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.kit.testplan import covers

SEED = 20261127


@covers("wide_lanes.configurations", "A lane must not leave out hardware that a supported mode needs")
@pytest.mark.simulator
def test_wide_lanes():
    """A pair of INT8 and INT16, and one of all modes."""
    run_bench("wide_lanes", WideLanesConfig(), "verilator", seed=SEED, cases=40, min_tests=6, min_compared=1000)


@covers("wide_lanes.configurations")
@pytest.mark.deep
@pytest.mark.simulator
def test_all_modes():
    """All modes with 32 bits between those with 64."""
    config = WideLanesConfig(modes=tuple(MacMode))
    run_bench("wide_lanes", config, "verilator", seed=SEED, cases=2000, min_tests=6, min_compared=27_000)


@pytest.mark.parametrize("modes", [(), (MacMode.INT8, MacMode.MX9)], ids=str)
def test_modes_without_int16_are_refused(modes):
    with pytest.raises(ValueError, match=r"wide_lanes: modes must have MacMode\.INT16, not"):
        WideLanesConfig(modes=modes)


def test_a_chained_lane_needs_int16():
    with pytest.raises(ValueError, match=r"mac_lane: modes must have MacMode\.INT16 with chained, not"):
        MacLaneConfig(modes=(MacMode.INT8,), chained=True)
