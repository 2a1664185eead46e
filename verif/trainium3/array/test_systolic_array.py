"""The bench of the systolic array: shapes, depths and presets on both simulators, with the counts it must reach."""

from functools import partial

import pytest

from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX, TRAINIUM3_QUAD_MX_ALIGNED
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.trainium3.array.config import ArrayConfig
from bitpath.rtl.trainium3.array.psum_memory import PsumMemoryConfig
from bitpath.rtl.trainium3.array.systolic_array import CoreArrayConfig
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.trainium3.tensor.config import CorePeConfig
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.kit.testplan import covers

# The bench of the array of all modes on both simulators, with the counts it must reach.


CORE_SEED = 20261126


def core_array(simulator, shape, stages, *, sparse=True, **checks):
    core = CorePeConfig(sparse=sparse, pipeline=PipelineConfig(stages=stages))
    config = CoreArrayConfig(rows=shape[0], cols=shape[1], operand_depth=64, dot=core)
    run_bench("core_array", config, simulator, seed=CORE_SEED, **checks)


@pytest.mark.simulator
@pytest.mark.deep
@pytest.mark.parametrize(("shape", "stages"), [((8, 4), 2), ((4, 8), 4), ((32, 8), 2)], ids=str)
def test_core_array_on_verilator(shape, stages):
    core_array("verilator", shape, stages, cases=12, min_tests=35, min_compared=3000)


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("kinds", "ran", "compared"),
    [("bf16", 1, 6), pytest.param("bf16|fused_3|move_32", 3, 20, marks=pytest.mark.deep)],
    ids=["one mode", "three modes"],
)
def test_core_array_on_icarus(kinds, ran, compared):
    """Some modes without the sparse ones: Icarus runs about a hundred cycles a second."""
    tests = f"mode/kind=({kinds})"
    core_array("icarus", (4, 2), 0, sparse=False, cases=2, tests=tests, min_tests=ran, min_compared=compared)


# The bench of PSUM at addresses on both simulators, with the counts that it must reach.


PSUM_SEED = 20261126
psum_memory = partial(run_bench, "psum_memory", seed=PSUM_SEED)


@pytest.mark.deep
@pytest.mark.simulator
def test_psum_memory_on_verilator():
    """Four partitions and banks; what differs with their number. `measured` has the run of `make test`."""
    config = PsumMemoryConfig(cols=4, banks=4, bank_bytes=128, step_bits=16, num_bits=12)
    tests = "lanes.*(full|both)|one_word|refused|ends"
    psum_memory(config, "verilator", cases=30, tests=tests, min_tests=5, min_compared=1_000)


@pytest.mark.simulator
def test_psum_memory_on_icarus():
    tests = "engines.*both|one_word|refused|resets"
    psum_memory(PsumMemoryConfig(), "icarus", cases=10, tests=tests, min_tests=4, min_compared=150)


@pytest.mark.deep
@pytest.mark.simulator
def test_psum_memory_without_checks():
    psum_memory(PsumMemoryConfig(checks=False), "icarus", cases=20, min_tests=11, min_compared=1_000)


@pytest.mark.deep
@pytest.mark.simulator
def test_psum_memory_of_the_machines_depth():
    """Eight banks of 2 KiB."""
    config = PsumMemoryConfig(cols=4, banks=8, bank_bytes=2048, step_bits=16, num_bits=16, wait_bits=16)
    tests = "lanes.*both|engines.*gaps|refused|ends"
    psum_memory(config, "verilator", cases=200, tests=tests, min_tests=4, min_compared=10_000)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"cols": 129}, "cols must be 1 to 128, not 129"),
        ({"banks": 16}, "banks must be a power of two from 2 to 8, not 16"),
        ({"bank_bytes": 4}, "bank_bytes must be a power of two from 8 to 2048, not 4"),
        ({"engines": 3}, "engines must be 1 to 2, not 3"),
        ({"wait_bits": 33}, "wait_bits must be 1 to 32, not 33"),
    ],
)
def test_psum_memory_refuses(fields, says):
    with pytest.raises(ValueError, match=f"^psum_memory: {says}$"):
        PsumMemoryConfig(**fields)


SEED = 20251122
EXACT, ALIGNED = TRAINIUM3_QUAD_MX.numerics, TRAINIUM3_QUAD_MX_ALIGNED.numerics
ALL = 9
"""Tests of the bench."""


def bench(simulator, shape, numerics, stages, *, depth=64, min_tests=ALL, **checks):
    dot = DotConfig(numerics=numerics, pipeline=PipelineConfig(stages=stages))
    config = ArrayConfig(rows=shape[0], cols=shape[1], operand_depth=depth, dot=dot)
    run_bench("systolic_array", config, simulator, seed=SEED, min_tests=min_tests, **checks)


@pytest.mark.simulator
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


@pytest.mark.simulator
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


@pytest.mark.simulator
@covers("systolic_array.tilings")
@pytest.mark.deep
def test_4x4_on_icarus():
    """Short directed tests: Icarus runs about a hundred cycles a second."""
    tests = "partial_sums_pass|every_column"
    bench("icarus", (4, 4), ALIGNED, 0, depth=16, cases=1, tests=tests, min_tests=2, min_compared=350)
