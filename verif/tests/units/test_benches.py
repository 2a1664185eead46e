"""Benches of dot product, PE, element map, PSUM, unpacker and packer on both simulators, with minimum counts of checks."""

from dataclasses import replace
from functools import partial

import pytest

from bitpath.golden.formats.catalogue import BF16, TF32, Rounding
from bitpath.golden.formats.dot import ScaleNan
from bitpath.golden.tensix.declarations.numerics import BLACKHOLE, WORMHOLE, BfpRange
from bitpath.golden.trainium3.declarations.quad_mx import (
    TRAINIUM3_QUAD_MX,
    TRAINIUM3_QUAD_MX_ALIGNED,
    TRAINIUM3_QUAD_MX_E4M3,
)
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.tensix.unpack.layouts import ConversionConfig
from bitpath.rtl.trainium3.array.psum import PsumConfig
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.trainium3.dot.element_map import MapConfig
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.kit.testplan import covers

pytestmark = pytest.mark.simulator
SEED = 20251121

EXACT = TRAINIUM3_QUAD_MX.numerics
ALIGNED = TRAINIUM3_QUAD_MX_ALIGNED.numerics
E4M3 = TRAINIUM3_QUAD_MX_E4M3.numerics
FLUSHING = replace(
    EXACT,
    accumulator=TF32,
    element_subnormals=False,
    accumulator_subnormals=False,
    scale_nan=ScaleNan.INFINITY,
    overflow_to_infinity=False,
)
"""Every option that the presets leave at its default, inverted, and a narrower accumulator."""
NEAREST = replace(ALIGNED, accumulator=BF16, align_rounding=Rounding.RNE, accumulator_rounding=Rounding.RNE)
"""Alignment rounds to nearest, with 8 significand bits."""
TRUNCATING = replace(FLUSHING, accumulator_rounding=Rounding.RTZ)
INTEGERS = replace(NEAREST, align_fraction_bits=0)
"""The alignment keeps no bits below the largest exponent."""
WIDE = replace(ALIGNED, align_fraction_bits=40)
"""The alignment keeps more bits than any product has."""
NUMERICS = {
    "exact": EXACT, "e4m3": E4M3, "aligned": ALIGNED, "flushing": FLUSHING, "nearest": NEAREST, "truncating": TRUNCATING,
    "integers": INTEGERS, "wide": WIDE,
}  # fmt: skip

EXHAUSTIVE = 4 * 65536 + 4 * 4096 + 256
"""Pairs of formats: four of FP8, four of FP8 with FP4, and FP4 with itself."""


def dot(numerics, stages):
    return DotConfig(numerics=NUMERICS[numerics], pipeline=PipelineConfig(stages=stages))


bench = partial(run_bench, seed=SEED)


@covers("quad_mx_dot.numerics", "One dataclass is read by both sides; an option that no test sets is not checked")
@pytest.mark.deep
def test_dot_on_verilator():
    """Three presets, and five more: every switch turned with a TF32 accumulator, rounded to nearest and truncated;
    aligned to nearest into BF16, to 16 fraction bits and to none; aligned to 40."""
    compared = 4 * 1000 + 1500 + EXHAUSTIVE
    bench("quad_mx_dot", dot("exact", 2), "verilator", cases=1000, min_tests=15, min_compared=compared)


@covers("quad_mx_dot.numerics")
@pytest.mark.deep
@pytest.mark.parametrize("pairs", ["x=E4M3FN/y=E5M2", "exhaustive"])
def test_aligned_dot_on_verilator(pairs):
    """Random classes at every pace, every corner, every operand pair of two formats or of all."""
    tests = f"random_classes|directed_corners|latency|{pairs}"
    compared = 4 * 1000 + 1500 + (1 << 16)
    bench("quad_mx_dot", dot("aligned", 3), "verilator", cases=1000, tests=tests, min_tests=7, min_compared=compared)


@covers("quad_mx_dot.numerics")
@pytest.mark.parametrize(
    ("numerics", "stages"),
    [
        ("truncating", 0),
        *(
            pytest.param(*each, marks=pytest.mark.deep)
            for each in (
                ("exact", 0),
                ("exact", 1),
                ("exact", 4),
                ("nearest", 2),
                ("e4m3", 0),
                ("aligned", 0),
                ("flushing", 3),
            )
        ),
    ],
)
def test_dot_on_icarus(numerics, stages):
    """Without registers, with every option inverted: in `make test` the PE's bench has the preset; the deep tests take the others."""
    tests = "random_classes|latency"
    bench("quad_mx_dot", dot(numerics, stages), "icarus", cases=150, tests=tests, min_tests=5, min_compared=620)


@covers("quad_mx_dot.boundary")
def test_dot_boundaries():
    """A sticky bit beside every boundary of the accumulator, the reported one among them; the deep tests play every corner."""
    bench("quad_mx_dot", dot("exact", 0), "icarus", cases=40, tests="boundaries", min_tests=1, min_compared=35)


@covers("quad_mx_dot.numerics")
@pytest.mark.deep
@pytest.mark.parametrize(
    ("numerics", "compared"),
    # They differ by the element formats, by a rounding, and by the bits of the alignment.
    [
        ("truncating", 2900),
        ("e4m3", 1700),
        ("integers", 2700),
        ("flushing", 3000),
        ("nearest", 2700),
        ("wide", 2700),
    ],
)
def test_dot_corners_of_other_numerics(numerics, compared):
    """Every corner, and a few random operands of every class."""
    tests = r"directed_corners|random_classes.*both"
    bench(
        "quad_mx_dot", dot(numerics, 2), "verilator", cases=150, tests=tests, min_tests=2, min_compared=compared + 150
    )


@covers("quad_mx_dot.numerics")
@pytest.mark.deep
def test_e4m3_dot_on_verilator():
    """Every operand pair of the other formats: E4M3 with itself, E4M3 with FP4 on either side, FP4 with itself."""
    compared = 4 * 1000 + 1300 + (1 << 16) + 2 * 4096 + 256
    bench("quad_mx_dot", dot("e4m3", 2), "verilator", cases=1000, min_tests=10, min_compared=compared)


@pytest.mark.parametrize(
    ("numerics", "stages", "simulator", "cases"),
    [
        ("exact", 2, "verilator", 1500),
        pytest.param("exact", 0, "icarus", 80, marks=pytest.mark.deep),
        pytest.param("aligned", 3, "icarus", 80, marks=pytest.mark.deep),
        pytest.param("exact", 4, "icarus", 80, marks=pytest.mark.deep),
    ],
)
def test_pe(numerics, stages, simulator, cases):
    bench("quad_mx_pe", dot(numerics, stages), simulator, cases=cases, min_tests=6, min_compared=6 * 4 * (cases - 20))


@pytest.mark.parametrize(
    ("simulator", "cases"), [pytest.param("icarus", 100, marks=pytest.mark.deep), ("verilator", 150)]
)
def test_psum(simulator, cases):
    """Few columns suffice: they are identical, and the simulation time goes into a bank's arithmetic.

    The deep tests compare Icarus with Verilator, here and in test_agree.
    """
    config = PsumConfig(cols=2, bank_depth=16)
    bench("psum", config, simulator, cases=cases, min_tests=15, min_compared=4 * cases + 8 * 64 + 3 * 300)


def test_element_map():
    bench("element_map", MapConfig(), "icarus", cases=200, min_tests=4, min_compared=3 * 4 * 16 + 2 * 256 + 200)


OTHER_CONVERSIONS = ConversionConfig(
    numerics=replace(
        WORMHOLE.numerics,
        bfp_range=BfpRange.FLUSH,
        bfp_a_range=BfpRange.FLUSH,
        final_tie=Rounding.RNE,
        l1_fp16_underflow_saturates=False,
    )
)
"""Every option of the unpackers and packers, inverted."""


def test_unpacker_on_verilator():
    """Every datum of up to 16 bits with every exponent, random rows at every pace, corners, latency."""
    compared = 3 * 4096 + 4 * 16 + 2 * 4096 + 2 * 256 + 2 * 256 + 2 * 512 + 4 * 32 + 4 * 500
    bench("unpacker", ConversionConfig(), "verilator", cases=500, min_tests=26, min_compared=compared)


@pytest.mark.deep
@pytest.mark.parametrize("rows", [8, 2, 4])
def test_wide_unpacker(rows):
    """Every datum in every row of a word."""
    bench("unpacker", ConversionConfig(rows=rows), "verilator", cases=100, min_tests=26, min_compared=22_000)


BLACKHOLE_CONVERSIONS = ConversionConfig(numerics=BLACKHOLE.numerics)


@covers("unpacker.blackhole")
@pytest.mark.deep
def test_unpacker_of_blackhole():
    """E4M3 and the all-ones codes of E5M2 among all conversions."""
    tests = "FP8|random_rows|latency"
    bench("unpacker", BLACKHOLE_CONVERSIONS, "icarus", cases=100, tests=tests, min_tests=13, min_compared=8 * 16 + 420)


@covers("packer.blackhole")
@pytest.mark.deep
def test_packer_of_blackhole():
    """E4M3 and FP16 from FP32 or BF16 in Dst among all combinations; every BF16 word that is narrowed."""
    compared = 13 * 4096 + 6448 + 390 + 20
    bench("packer", BLACKHOLE_CONVERSIONS, "verilator", cases=500, min_tests=25, min_compared=compared)


@pytest.mark.deep
def test_unpacker_on_icarus():
    tests = "random_rows|thirty_two|block_floats|latency|BFP[248]A?_BF16|BFP[24]A_FP16"
    bench("unpacker", OTHER_CONVERSIONS, "icarus", cases=100, tests=tests, min_tests=10, min_compared=5000)


@pytest.mark.parametrize(
    ("tests", "ran", "compared"),
    [
        ("directed_corners|block_boundaries|random_rows|latency|resets", 13, 6 * 188 + 6448 + 390 + 20),
        pytest.param(None, 22, 10 * 4096 + 6 * 188 + 6448 + 390 + 20, marks=pytest.mark.deep),
    ],
    ids=["some", "all"],
)
def test_packer_on_verilator(tests, ran, compared):
    """Every combination of formats and steps at four paces, corners, block floats, latency; the deep test has every 16-bit word in ten conversions."""
    bench("packer", ConversionConfig(), "verilator", cases=500, tests=tests, min_tests=ran, min_compared=compared)


@pytest.mark.deep
def test_packer_of_two_rows():
    """Every row in both lanes, beside rows of other formats and steps."""
    config, tests = ConversionConfig(rows=2), "directed_corners|random_rows|latency|resets"
    bench("packer", config, "verilator", cases=100, tests=tests, min_tests=7, min_compared=6448)


@pytest.mark.deep
@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_other_packer(simulator):
    """Icarus compiles a packer in a quarter of a minute; `bitpath self agree` runs the default one on it too."""
    tests = "directed_corners|block_boundaries|latency"
    bench("packer", OTHER_CONVERSIONS, simulator, cases=20, tests=tests, min_tests=8, min_compared=410 + 6 * 188)


@pytest.mark.deep
@pytest.mark.parametrize("unit", ["unpacker", "packer"])
@pytest.mark.parametrize("config", [ConversionConfig(), OTHER_CONVERSIONS], ids=["default", "other"])
def test_conversions_volume(unit, config):
    bench(unit, config, "verilator", cases=10_000, tests="random|corners|block", min_tests=4, min_compared=40_000)


@pytest.mark.deep
@pytest.mark.parametrize("stages", range(5))
@pytest.mark.parametrize("numerics", ["exact", "e4m3", "aligned", "flushing", "nearest"])
def test_dot_volume(numerics, stages):
    """Random classes and corners in volume, at every pipeline depth and with both values of every option."""
    config = dot(numerics, stages)
    bench("quad_mx_dot", config, "verilator", cases=20_000, tests="random|corners", min_tests=2, min_compared=40_000)
