"""Benches of the BF16 PE, QuantizeMX, XORWOW with PSUM's stochastic rounding, and the exponential, on both simulators."""

import os
from functools import partial
from pathlib import Path

import pytest

from bitpath.rtl.config import PipelineConfig
from bitpath.rtl.trainium3.vector_config import MultiplyAddConfig, QuantizeMxConfig
from bitpath.sim.runner import build, run, run_bench

pytestmark = pytest.mark.simulator
SEED = 20251202
ALL = 65_536
"""Codes of 16 bits."""
PE_CORNERS = 789
BLOCKS = ALL // 32 + -(-ALL // 31)
"""That hold all codes twice."""

bench = partial(run_bench, seed=SEED)


def known_answers():
    """The folder of known answers; the test is skipped where there is none."""
    if "BITPATH_KAT_DIR" not in os.environ:
        pytest.skip("BITPATH_KAT_DIR is not set: no known answers to compare with")
    return Path(os.environ["BITPATH_KAT_DIR"]).resolve()


def compare_known_answers(unit, config, min_compared):
    """Run the bench of known answers that is named after the unit."""
    run(
        build(unit, config, "verilator"),
        f"bitpath.verif.tb.tb_{unit}_known_answers",
        seed=SEED,
        min_compared=min_compared,
        env={"BITPATH_KAT_DIR": str(known_answers())},
    )


def multiply_add(stages):
    return MultiplyAddConfig(pipeline=PipelineConfig(stages=stages))


def quantize_mx(stages):
    return QuantizeMxConfig(pipeline=PipelineConfig(stages=stages))


def test_bf16_pe_on_verilator():
    """Loads and swaps, corners, columns of nc_matmul, every BF16 and FP16 gamma times one."""
    compared = 2 * ALL + 4 * (6 * 480 + PE_CORNERS)
    bench("bf16_pe", multiply_add(0), "verilator", cases=500, min_tests=13, min_compared=compared)


def test_bf16_pe_on_icarus():
    tests = "tiles|loads|corners|rows"
    bench(
        "bf16_pe",
        multiply_add(3),
        "icarus",
        cases=60,
        tests=tests,
        min_tests=11,
        min_compared=4 * (6 * 50 + PE_CORNERS),
    )


@pytest.mark.deep
@pytest.mark.parametrize("stages", range(5))
def test_bf16_pe_volume(stages):
    tests = "tiles|loads|corners|rows"
    bench("bf16_pe", multiply_add(stages), "verilator", cases=20_000, tests=tests, min_tests=11, min_compared=400_000)


def test_quantize_mx_on_verilator():
    """All codes of BF16 and FP16 to both elements under both rules, corners, random blocks at every pace, latency."""
    compared = 8 * BLOCKS + 2000 + 4 * 496 + 20
    bench("quantize_mx", quantize_mx(2), "verilator", cases=500, min_tests=21, min_compared=compared)


@pytest.mark.parametrize("stages", [0, 3])
def test_quantize_mx_on_icarus(stages):
    tests = "corners/mode=FP16_E4M3FN_ocp|random|latency"
    config = quantize_mx(stages)
    bench("quantize_mx", config, "icarus", cases=40, tests=tests, min_tests=6, min_compared=150 + 4 * 40 + 20)


def test_quantize_mx_known_answers():
    """49 tiles of BF16 and FP16 under both rules."""
    compare_known_answers("quantize_mx", quantize_mx(2), 2 * 5632)


@pytest.mark.deep
@pytest.mark.parametrize("stages", range(5))
def test_quantize_mx_volume(stages):
    bench("quantize_mx", quantize_mx(stages), "verilator", cases=20_000, min_tests=21, min_compared=110_000)
