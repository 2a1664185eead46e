"""Benches of the BF16 PE, QuantizeMX, XORWOW with PSUM's stochastic rounding, and the exponential, on both simulators."""

from dataclasses import replace
from functools import partial

import pytest
from amaranth.sim import Simulator

from bitpath.golden.formats.catalogue import BF16, E3M4, E4M3, E4M3FN, E5M2, FP16, FP32, Rounding
from bitpath.golden.formats.dot import ProductRounding
from bitpath.golden.trainium3.declarations.vector import TRAINIUM2_BF16_PRODUCTS, TRAINIUM3_EXPONENTIAL
from bitpath.golden.trainium3.exact.functions import ln2, log2e, power_table
from bitpath.rtl.common.arithmetic.decode import raw_float
from bitpath.rtl.common.arithmetic.product_round import ProductRound
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.trainium3.array.psum import PsumConfig
from bitpath.rtl.trainium3.dot.config import MultiplyAddConfig
from bitpath.rtl.trainium3.vector import exponential as rtl_exponential
from bitpath.rtl.trainium3.vector.exponential import ExponentialConfig
from bitpath.rtl.trainium3.vector.quantize_mx import QuantizeMxConfig
from bitpath.rtl.trainium3.vector.xorwow import XorwowConfig
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.kit.testplan import covers

pytestmark = pytest.mark.simulator
SEED = 20251202
EXPONENTIAL = TRAINIUM3_EXPONENTIAL.numerics
STAGES = [PipelineConfig(stages=stages) for stages in range(5)]
ALL = 65_536
"""Codes of 16 bits."""
PE_CORNERS = 789
PRODUCT_CORNERS = 141
BF16_PRODUCTS = MultiplyAddConfig(numerics=TRAINIUM2_BF16_PRODUCTS.numerics)
BLOCKS = ALL // 32 + -(-ALL // 31)
"""That hold all codes twice."""

bench = partial(run_bench, seed=SEED)


@pytest.mark.parametrize("formats", [(BF16,), (FP16, BF16), (E4M3, E5M2, E3M4), (E4M3FN, E5M2, E3M4)])
def test_formats_that_may_meet(formats):
    assert MultiplyAddConfig(element_formats=formats).element_formats == formats


@pytest.mark.parametrize(
    ("formats", "says"),
    [
        ((), "element_formats must be some of E4M3, E4M3FN, E5M2, E3M4, BF16, FP16"),
        ((BF16, FP32), "element_formats must be some of E4M3, E4M3FN, E5M2, E3M4, BF16, FP16"),
        ((E4M3, BF16), "element_formats must have one width"),
        ((BF16, FP16, BF16), "must name each format once"),
        ((E4M3, E5M2, E4M3FN), "must have only one of E4M3 and E4M3FN"),
    ],
)
def test_formats_that_do_not_meet_are_refused(formats, says):
    with pytest.raises(ValueError, match=f"^multiply_add: .*{says}"):
        MultiplyAddConfig(element_formats=formats)


@pytest.mark.parametrize("exponent", [0, 14, 28])
def test_a_product_is_rounded_to_a_format_of_wider_exponents(exponent):
    """A product of E4M3 is 64 * 2**(exponent - 20), and FP32's exponents are wider than its own."""
    rounding = ProductRounding(format=FP32, rounding=Rounding.RNE)
    rounder = ProductRound(raw_float(5, 8), 20, rounding)

    async def bench(ctx):
        ctx.set(rounder.i, {"significand": 64, "exponent": exponent})
        o = ctx.get(rounder.o)
        assert (o.significand, o.exponent) == (1 << FP32.fraction_bits, FP32.bias + exponent - 14)

    simulator = Simulator(rounder)
    simulator.add_testbench(bench)
    simulator.run()


COARSE = replace(EXPONENTIAL, fraction_bits=24, table_bits=9, log2e_bits=30, power_bits=40, sum_before_cast=False)
"""A coarser algorithm with a larger table, whose sums are of what is stored."""


@covers("exponential.table")
@pytest.mark.parametrize("numerics", [EXPONENTIAL, COARSE], ids=["default", "coarse"])
def test_the_constants_are_the_exact_tiers(numerics):
    """Both come from integers, by series and roots that are not each other's."""
    assert rtl_exponential.ln2(numerics) == ln2(numerics)
    assert rtl_exponential.log2e(numerics) == log2e(numerics)
    assert rtl_exponential.power_table(numerics) == power_table(numerics)


def exponential(width, stages, numerics=EXPONENTIAL):
    return ExponentialConfig(width=width, numerics=numerics, pipeline=STAGES[stages])


def psum(cols):
    """Columns of one XORWOW lane, or of one and a quarter."""
    return PsumConfig(cols=cols, lanes=2, banks=2, bank_depth=16)


PE, EXP = "tiles|loads|corners|rows", "corners|every_bf16_code/bf16=False|many|half|random|rows|latency|resets"
MX = "corners/mode=FP16_E4M3FN_ocp|random|latency"
BENCHES = {
    # Loads and swaps, corners, columns of nc_matmul, every BF16 and FP16 gamma times one.
    "bf16_pe-verilator": (MultiplyAddConfig(pipeline=STAGES[0]), 300, None, 13, 2 * ALL + 4 * (6 * 280 + PE_CORNERS)),
    "bf16_pe-icarus": (MultiplyAddConfig(pipeline=STAGES[3]), 150, PE, 11, 4 * (6 * 140 + PE_CORNERS)),
    "bf16_pe-bf16_products-verilator": (BF16_PRODUCTS, 300, None, 13, 2 * ALL + 4 * 6 * 280 + PRODUCT_CORNERS),
    # All codes of BF16 and FP16 to three elements under both rules, corners, random blocks at every pace, latency, resets.
    "quantize_mx-verilator": (QuantizeMxConfig(pipeline=STAGES[2]), 500, None, 30, 12 * BLOCKS + 2850 + 4 * 492 + 20),
    "quantize_mx-icarus": (QuantizeMxConfig(pipeline=STAGES[0]), 40, MX, 6, 100 + 4 * 36 + 20),
    "xorwow-verilator": (XorwowConfig(lanes=16), 300, None, 6, 2 * (3 * 300 + 2 * 20)),
    "xorwow-icarus": (XorwowConfig(lanes=2), 300, None, 6, 2 * (3 * 300 + 2 * 20)),
    "stochastic_psum-verilator": (psum(10), 200, None, 15, 2 * 200 + 64),
    "stochastic_psum-icarus": (psum(2), 60, "lanes|stored|results|ready=1/cycles=2", 5, 2 * 60 + 64),
    # Corners, all BF16 codes to FP32, many arguments, rows with their sums, random beats at every pace, latency, resets.
    "exponential-verilator": (exponential(4, 3), 500, EXP, 12, 493 + ALL // 4 + 9 * 500 + 4 * 500 + 2 * 200 + 20),
    "exponential-icarus": (exponential(1, 0), 60, "corners|random|rows|latency|resets", 9, 493 + 4 * 60 + 2 * 27 + 20),
}
"""Configuration, cases, names of tests, and the least tests and comparisons."""
AGAIN = (
    "bf16_pe-verilator",
    "bf16_pe-bf16_products-verilator",
    "quantize_mx-icarus",
    "stochastic_psum-verilator",
    "exponential-verilator",
)
"""Benches on a second simulator or with other numerics: deep tests."""


@covers("bf16_pe.rounded_products")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.deep] if name in AGAIN else []) for name in BENCHES]
)
def test_bench(name):
    unit, *_, simulator = name.split("-")
    config, cases, tests, ran, compared = BENCHES[name]
    bench(unit, config, simulator, cases=cases, tests=tests, min_tests=ran, min_compared=compared)


VOLUMES = [
    *(("bf16_pe", MultiplyAddConfig(pipeline=stages), 20_000, PE, 11, 400_000) for stages in STAGES),
    *(("quantize_mx", QuantizeMxConfig(pipeline=stages), 20_000, None, 29, 130_000) for stages in STAGES),
    ("stochastic_psum", PsumConfig(cols=4, bank_depth=16), 4_000, None, 15, 8_000),
    ("xorwow", XorwowConfig(lanes=4), 50_000, None, 6, 300_000),
    *(("exponential", exponential(*size), 20_000, None, 7, 80_000) for size in ((1, 0), (2, 1), (4, 2), (4, 4))),
    # Three lanes do not divide the codes of 16 bits.
    ("exponential", exponential(3, 3, COARSE), 20_000, "random|rows|latency", 7, 80_000),
]


@pytest.mark.deep
@pytest.mark.parametrize(("unit", "config", "cases", "tests", "ran", "compared"), VOLUMES)
def test_volume(unit, config, cases, tests, ran, compared):
    bench(unit, config, "verilator", cases=cases, tests=tests, min_tests=ran, min_compared=compared)
