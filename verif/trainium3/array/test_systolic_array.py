"""The bench of the systolic array: shapes, depths and presets on both simulators, with the counts it must reach."""

import pytest

from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX, TRAINIUM3_QUAD_MX_ALIGNED
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.trainium3.array.config import ArrayConfig
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.kit.testplan import covers

pytestmark = pytest.mark.simulator
SEED = 20251122
EXACT, ALIGNED = TRAINIUM3_QUAD_MX.numerics, TRAINIUM3_QUAD_MX_ALIGNED.numerics
ALL = 9
"""Tests of the bench."""


def bench(simulator, shape, numerics, stages, *, depth=64, min_tests=ALL, **checks):
    dot = DotConfig(numerics=numerics, pipeline=PipelineConfig(stages=stages))
    config = ArrayConfig(rows=shape[0], cols=shape[1], operand_depth=depth, dot=dot)
    run_bench("systolic_array", config, simulator, seed=SEED, min_tests=min_tests, **checks)


@covers("systolic_array.tilings")
@pytest.mark.parametrize(
    ("shape", "numerics", "stages", "depth", "cases", "least"),
    [
        pytest.param((2, 2), EXACT, 2, 64, 8, 600, marks=pytest.mark.deep),
        pytest.param((4, 4), EXACT, 2, 512, 24, 4000, marks=pytest.mark.deep),
        pytest.param((2, 2), ALIGNED, 4, 64, 40, 3000, marks=pytest.mark.deep),
        # The engine that `bitpath run` builds has as many PEs.
        pytest.param((32, 8), EXACT, 2, 64, 20, 4000, marks=pytest.mark.deep),
    ],
    ids=["2x2-exact-2", "4x4-exact-2", "2x2-aligned-4", "32x8-exact-2"],
)
def test_on_verilator(shape, numerics, stages, depth, cases, least):
    """Result vectors of all columns are compared, at least ``least`` of them."""
    bench("verilator", shape, numerics, stages, depth=depth, cases=cases, min_compared=least)


@pytest.mark.parametrize(
    ("tests", "ran", "compared"),
    [
        ("partial_sums", 1, 60),
        pytest.param(None, ALL, 400, marks=pytest.mark.deep),
    ],
    ids=["some", "all"],
)
def test_2x2_on_icarus(tests, ran, compared):
    bench("icarus", (2, 2), EXACT, 0, depth=16, cases=4, tests=tests, min_tests=ran, min_compared=compared)


@covers("systolic_array.tilings")
@pytest.mark.deep
def test_4x4_on_icarus():
    """Short directed tests: Icarus runs about a hundred cycles a second."""
    tests = "partial_sums_pass|every_column"
    bench("icarus", (4, 4), ALIGNED, 0, depth=16, cases=1, tests=tests, min_tests=2, min_compared=350)
