"""Multiply-accumulate benches on both simulators: post-adder, lane, vector unit."""

from dataclasses import replace
from functools import partial

import pytest

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, AIE_ML_V2_DOCUMENTED, AIE_ML_V2_SPLIT, Mx4Path
from bitpath.rtl.aie_ml_v2.mac.config import BFP16EBS8_LANE, MacLaneConfig, MacMode
from bitpath.rtl.aie_ml_v2.mac.post_add import PostAddConfig
from bitpath.rtl.aie_ml_v2.vector.config import OperandShapesConfig, VectorMacConfig
from bitpath.rtl.aie_ml_v2.vector.native_mac import SparseRouteConfig
from bitpath.rtl.aie_ml_v2.vector.native_shapes import NativeShape
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.kit.testplan import covers

# Benches of native products' routing on both simulators.


PRODUCTS_SEED = 20261127
products_bench = partial(run_bench, seed=PRODUCTS_SEED)


def test_sparse_route():
    """Every mask, every native shape, random lanes at every pace."""
    products_bench(
        "sparse_route", SparseRouteConfig(), "verilator", cases=20, min_tests=10, min_compared=2 * 96 + 160 + 4 * 20
    )


@pytest.mark.deep
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_sparse_route_on_verilator(groups):
    products_bench(
        "sparse_route", SparseRouteConfig(groups=groups), "verilator", cases=500, min_tests=6, min_compared=2000
    )


@pytest.mark.parametrize("groups", [0, 5])
def test_groups_that_are_refused(groups):
    with pytest.raises(ValueError, match=f"^sparse_route: groups must be .*{groups}"):
        SparseRouteConfig(groups=groups)


@covers(
    "operand_shapes.shapes",
    "Multiplexers that no configured shape needs are left out, and lanes with equal places share theirs",
)
def test_operand_shapes():
    """Eight shapes of all families; all shapes; 2, 16 and 64 lanes; sets of shapes that are refused."""
    config = OperandShapesConfig()
    compared = 4 * len(config.shapes) * config.parts + 4 * 20
    products_bench("operand_shapes", config, "icarus", cases=20, min_tests=5, min_compared=compared)


@covers("operand_shapes.shapes")
@pytest.mark.deep
@pytest.mark.parametrize("lanes", [2, 16, 64])
def test_every_operand_shape(lanes):
    config = OperandShapesConfig(lanes=lanes, shapes=tuple(NativeShape))
    compared = 4 * len(NativeShape) * config.parts
    products_bench("operand_shapes", config, "verilator", cases=100, min_tests=5, min_compared=compared)


@covers("operand_shapes.shapes")
@pytest.mark.parametrize("shapes", [(), (NativeShape.INT8_4X8X16, NativeShape.INT8_8X8X8)], ids=["none", "order"])
def test_shapes_that_are_refused(shapes):
    with pytest.raises(
        ValueError, match="operand_shapes: shapes must be distinct NativeShape members in their order, not"
    ):
        OperandShapesConfig(shapes=shapes)


pytestmark = pytest.mark.simulator
SEED = 20251121

REFERENCE = AIE_ML_V2.numerics
SPLIT = AIE_ML_V2_SPLIT.numerics
DOCUMENTED = AIE_ML_V2_DOCUMENTED.numerics
TURNED = replace(
    REFERENCE,
    mx_nan_block=False,
    mx_lossless_shift=False,
    mx_post_add_first=False,
    mx_zero_term=False,
    mx4_path=Mx4Path.MX9,
    float_zero_term=True,
    align_fraction_bits=26,
    align_rounding=RoundingCode.FLOOR,
    accumulator_align_rounding=RoundingCode.SYMMETRIC_CEIL,
    result_rounding=RoundingCode.CONV_ODD,
    flushed_zero_keeps_sign=False,
    accumulator_bypass=False,
)
"""Every option inverted; every product is a term of its own."""
COARSE = replace(
    SPLIT,
    mx_lossless_shift=False,
    align_fraction_bits=20,
    align_rounding=RoundingCode.POSITIVE_INF,
    accumulator_align_rounding=RoundingCode.CEIL,
    result_rounding=RoundingCode.SYMMETRIC_ZERO,
)
"""The coarsest grid, and two rounding codes that no other configuration uses."""
BFP16EBS8_FIELDS = (
    {},
    {"mx_post_add_first": False, "mx_zero_term": False, "align_fraction_bits": 26},
    {"mx_nan_block": True, "mx_lossless_shift": False, "mx9_split_round": True, "align_fraction_bits": 20},
)
"""Fields of the lane of bfp16ebs8 that differ from its preset, those without effect among them."""
NUMERICS = {"split": SPLIT, "documented": DOCUMENTED, "turned": TURNED, "coarse": COARSE}


bench = partial(run_bench, seed=SEED)


@covers("post_add.numerics", "Golden and RTL read the same options, and each option must be exercised")
@pytest.mark.deep
def test_post_add_on_verilator():
    """The reference; MX4 as MX9 with flooring shifts."""
    bench("post_add", PostAddConfig(), "verilator", cases=500, min_tests=8, min_compared=65_536 + 4096 + 256)


@covers("post_add.numerics")
def test_post_add_on_icarus():
    """Every pair of MX4 codes with all shifts, in the numerics with every option inverted; integers."""
    tests = "every_pair_of_codes.*mx4|integers"
    config = PostAddConfig(numerics=TURNED)
    bench("post_add", config, "icarus", cases=40, tests=tests, min_tests=3, min_compared=256 + 80)


@covers("mac_lane.numerics", "Golden and RTL read the same options, and each option must be exercised")
@pytest.mark.deep
def test_lane_on_verilator():
    """The reference; MX9 halves rounded separately; MX4 as MX9; every switch inverted with 26 fraction bits; 20
    fraction bits with other roundings."""
    bench("mac_lane", MacLaneConfig(), "verilator", cases=300, min_tests=15, min_compared=7500)


@covers("mac_lane.numerics")
@pytest.mark.deep
def test_lane_on_icarus():
    """One case of each format, with gaps; `make test` has other numerics on Icarus, and test_agreement these."""
    tests = "random_classes.*gaps|volume.*(mx9|float8)"
    bench("mac_lane", MacLaneConfig(), "icarus", cases=45, tests=tests, min_tests=3, min_compared=112 + 32)


@covers("mac_lane.modes", "A lane must not leave out hardware that a supported mode needs")
@pytest.mark.deep
def test_lane_of_mx9_alone():
    """Lanes with fewer modes: MX9 only with every corner, three modes, several single modes; invalid sets of modes."""
    config = MacLaneConfig(modes=(MacMode.MX9,), numerics=DOCUMENTED)
    bench("mac_lane", config, "verilator", cases=60, min_tests=7, min_compared=1000)


@covers("mac_lane.bfp16ebs8")
@pytest.mark.deep
@pytest.mark.parametrize("fields", BFP16EBS8_FIELDS, ids=str)
def test_lane_of_bfp16ebs8(fields):
    """XDNA2's products of eight, a beat each: every corner, random classes at every pace, chains by the vectorised model.

    `make test` replays silicon's chains.
    """
    config = replace(BFP16EBS8_LANE, numerics=replace(BFP16EBS8_LANE.numerics, **fields))
    bench("mac_lane", config, "verilator", cases=60, min_tests=5, min_compared=1500)


@covers("mac_lane.bfp16ebs8")
@pytest.mark.deep
def test_lane_of_bfp16ebs8_on_icarus():
    bench("mac_lane", BFP16EBS8_LANE, "icarus", cases=60, tests="random_classes.*gaps", min_tests=1, min_compared=20)


@covers("mac_lane.bfp16ebs8")
def test_bfp16ebs8_needs_mx9_alone():
    with pytest.raises(ValueError, match="mac_lane: modes must be"):
        MacLaneConfig(bfp16ebs8=True)


def one_pace(modes):
    """Random classes of the remaining formats."""
    tests = "random_classes.*full"
    bench("mac_lane", MacLaneConfig(modes=modes), "icarus", cases=60, tests=tests, min_tests=1, min_compared=20)


@covers("mac_lane.modes")
@pytest.mark.deep
def test_lane_of_some_modes():
    one_pace((MacMode.INT8, MacMode.FLOAT16, MacMode.MX9))


@covers("mac_lane.modes")
@pytest.mark.deep
@pytest.mark.parametrize("mode", MacMode, ids=lambda mode: mode.name.lower())
def test_lane_of_one_mode(mode):
    one_pace((mode,))


@covers("mac_lane.modes")
@pytest.mark.parametrize(
    "modes", [(), (MacMode.MX9, MacMode.MX6), (MacMode.MX9, MacMode.MX9)], ids=["none", "order", "twice"]
)
def test_modes_that_are_refused(modes):
    with pytest.raises(ValueError, match="mac_lane: modes must be distinct MacMode members in their order, not"):
        MacLaneConfig(modes=modes)


@covers("mac_lane.numerics")
@pytest.mark.parametrize(
    "numerics",
    [
        pytest.param(numerics, marks=[pytest.mark.deep] if name != "turned" else [])
        for name, numerics in NUMERICS.items()
    ],
    ids=NUMERICS,
)
def test_other_numerics_on_icarus(numerics):
    """Random classes of every format, with every option inverted.

    The deep tests have every corner, the presets and the coarsest grid.
    """
    config = MacLaneConfig(numerics=numerics)
    bench("mac_lane", config, "icarus", cases=12, tests="random_classes.*full", min_tests=1, min_compared=35)


@covers("vector_mac.lanes")
def test_vector_unit_on_verilator():
    """Programs at every pace, stalls of every mode for every other, every lane, host traffic."""
    bench("vector_mac", VectorMacConfig(), "verilator", cases=200, min_tests=6, min_compared=3000)


@covers("vector_mac.lanes")
@pytest.mark.deep
@pytest.mark.parametrize("bypass", [True, False], ids=["bypass", "none"])
def test_vector_unit_of_one_lane_on_icarus(bypass):
    """Programs with and without gaps, and host traffic, with the accumulators' bypass and without."""
    tests = "random_programs.*(full|scattered)|outside_traffic"
    config = VectorMacConfig(lanes=1, accumulators=4, numerics=replace(REFERENCE, accumulator_bypass=bypass))
    bench("vector_mac", config, "icarus", cases=40, tests=tests, min_tests=3, min_compared=600)


@covers("vector_mac.lanes")
@pytest.mark.deep
def test_vector_unit_of_64_lanes_on_verilator():
    """64 lanes: a complete instruction in every cycle."""
    tests = "random_programs.*full|every_lane"
    bench("vector_mac", VectorMacConfig(lanes=64), "verilator", cases=12, tests=tests, min_tests=2, min_compared=50)


@covers("mac_lane.numerics")
@pytest.mark.deep
@pytest.mark.parametrize("numerics", [REFERENCE, *NUMERICS.values()], ids=["reference", *NUMERICS])
def test_lane_volume(numerics):
    """Every corner of every format in all numerics, and many random cases."""
    bench("mac_lane", MacLaneConfig(numerics=numerics), "verilator", cases=3000, min_tests=15, min_compared=20_000)


@covers("post_add.numerics")
@pytest.mark.deep
@pytest.mark.parametrize("numerics", [DOCUMENTED, TURNED, COARSE], ids=["documented", "turned", "coarse"])
def test_post_add_volume(numerics):
    config = PostAddConfig(numerics=numerics)
    bench("post_add", config, "verilator", cases=500, min_tests=8, min_compared=65_536 + 4096 + 256)


@pytest.mark.deep
@pytest.mark.parametrize("lanes", [1, 2, 8, 16, 32, 64])
def test_vector_unit_volume(lanes):
    bench("vector_mac", VectorMacConfig(lanes=lanes), "verilator", cases=100, min_tests=6, min_compared=800)
