"""The bench of a core: all of it on Verilator, a part on Icarus, and the small layer in a core of one quadrant."""

import pytest

from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.sim.engine.runner import build, run, run_bench
from bitpath.verif.trainium3.core.core_layer import LAYER

pytestmark = pytest.mark.simulator
SEED = 20261126


def test_programs_on_icarus():
    run_bench(
        "core",
        CoreConfig(),
        "icarus",
        seed=SEED,
        cases=10,
        tests="random_programs|queues",
        min_tests=3,
        min_compared=800,
    )


@pytest.mark.deep
@pytest.mark.parametrize("size", [8, 16])
def test_larger_cores(size):
    config = CoreConfig(size=size, partition_bytes=512, hbm_bytes=1 << 14, step_bits=10, num_bits=8)
    run_bench("core", config, "verilator", seed=SEED, cases=100, min_tests=14, min_compared=10_000)


@pytest.mark.deep
def test_a_quadrant():
    """All instructions, MX and QuantizeMX too, then the layer from HBM back to HBM."""
    run_bench("core", LAYER, "verilator", seed=SEED, cases=40, min_tests=16, min_compared=100_000)


@pytest.mark.deep
def test_the_layer_from_hbm_to_hbm():
    built = build("core", LAYER, "verilator")
    run(built, "bitpath.verif.trainium3.core.tb_core_layer", seed=SEED, min_tests=1, min_compared=10_000)
