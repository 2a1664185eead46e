"""Cascade benches: the link on both simulators, chains of two and three stages, with minimum counts."""

from functools import partial

import pytest

from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2_DOCUMENTED
from bitpath.rtl.aie_ml_v2.cascade.cascade import CASCADE_LANES, CascadeConfig, CascadeLinkConfig
from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.aie_ml_v2.cascade.cascade import FORMATS
from bitpath.verif.kit.testplan import covers

pytestmark = pytest.mark.simulator
SEED = 20251123


bench = partial(run_bench, seed=SEED)


@pytest.mark.parametrize(
    ("simulator", "cycles"), [("icarus", 100), pytest.param("verilator", 2000, marks=pytest.mark.deep)]
)
def test_link(simulator, cycles):
    bench("cascade_link", CascadeLinkConfig(), simulator, cases=cycles, min_tests=7, min_compared=2 * cycles)


@pytest.mark.deep
def test_chain_on_verilator():
    """Every format at every pace, a late stage, full throughput, and back-pressure."""
    words = 4 * len(FORMATS) * 4 + 2 * 16 + 24 + 8
    bench("cascade", CascadeConfig(), "verilator", cases=100, min_tests=8, min_compared=words)


@pytest.mark.deep
def test_chain_on_icarus():
    """Back-pressure passes through both stages."""
    bench("cascade", CascadeConfig(), "icarus", cases=1, tests="back_pressure", min_tests=1, min_compared=8)


@pytest.mark.parametrize("stages", [1, 0])
def test_a_chain_has_two_stages_at_least(stages):
    with pytest.raises(ValueError, match=f"stages must be 2 to 64, not {stages}"):
        CascadeConfig(stages=stages)


def test_a_stage_is_as_wide_as_the_cascade():
    with pytest.raises(ValueError, match=r"mac\.lanes must be 16, not 8"):
        CascadeConfig(mac=VectorMacConfig(lanes=8))


@covers("cascade.products")
@pytest.mark.deep
def test_longer_chain():
    """A chain of three stages that multiplies MX4 as MX9."""
    mac = VectorMacConfig(lanes=CASCADE_LANES, numerics=AIE_ML_V2_DOCUMENTED.numerics)
    bench("cascade", CascadeConfig(stages=3, mac=mac), "verilator", cases=1600, min_tests=9, min_compared=2000)
