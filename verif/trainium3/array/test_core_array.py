"""The bench of the array of all modes on both simulators, with the counts it must reach."""

import pytest

from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.trainium3.array.systolic_array import CoreArrayConfig
from bitpath.rtl.trainium3.tensor.config import CorePeConfig
from bitpath.sim.engine.runner import run_bench

pytestmark = pytest.mark.simulator
SEED = 20261126


def bench(simulator, shape, stages, *, sparse=True, **checks):
    core = CorePeConfig(sparse=sparse, pipeline=PipelineConfig(stages=stages))
    config = CoreArrayConfig(rows=shape[0], cols=shape[1], operand_depth=64, dot=core)
    run_bench("core_array", config, simulator, seed=SEED, **checks)


@pytest.mark.deep
@pytest.mark.parametrize(("shape", "stages"), [((8, 4), 2), ((4, 8), 4), ((32, 8), 2)], ids=str)
def test_on_verilator(shape, stages):
    bench("verilator", shape, stages, cases=12, min_tests=35, min_compared=3000)


@pytest.mark.parametrize(
    ("kinds", "ran", "compared"),
    [("bf16", 1, 6), pytest.param("bf16|fused_3|move_32", 3, 20, marks=pytest.mark.deep)],
    ids=["one mode", "three modes"],
)
def test_4x2_on_icarus(kinds, ran, compared):
    """Some modes without the sparse ones: Icarus runs about a hundred cycles a second."""
    tests = f"mode/kind=({kinds})"
    bench("icarus", (4, 2), 0, sparse=False, cases=2, tests=tests, min_tests=ran, min_compared=compared)
