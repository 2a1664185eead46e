"""Benches of native products' routing on both simulators."""

from functools import partial

import pytest

from bitpath.rtl.aie_ml_v2.vector.config import OperandShapesConfig
from bitpath.rtl.aie_ml_v2.vector.native_mac import SparseRouteConfig
from bitpath.rtl.aie_ml_v2.vector.native_shapes import NativeShape
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.kit.testplan import covers

pytestmark = pytest.mark.simulator
SEED = 20261127
bench = partial(run_bench, seed=SEED)


def test_sparse_route():
    """Every mask, every native shape, random lanes at every pace."""
    bench("sparse_route", SparseRouteConfig(), "verilator", cases=20, min_tests=10, min_compared=2 * 96 + 160 + 4 * 20)


@pytest.mark.deep
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_sparse_route_on_verilator(groups):
    bench("sparse_route", SparseRouteConfig(groups=groups), "verilator", cases=500, min_tests=6, min_compared=2000)


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
    bench("operand_shapes", config, "icarus", cases=20, min_tests=5, min_compared=compared)


@covers("operand_shapes.shapes")
@pytest.mark.deep
@pytest.mark.parametrize("lanes", [2, 16, 64])
def test_every_operand_shape(lanes):
    config = OperandShapesConfig(lanes=lanes, shapes=tuple(NativeShape))
    compared = 4 * len(NativeShape) * config.parts
    bench("operand_shapes", config, "verilator", cases=100, min_tests=5, min_compared=compared)


@covers("operand_shapes.shapes")
@pytest.mark.parametrize("shapes", [(), (NativeShape.INT8_4X8X16, NativeShape.INT8_8X8X8)], ids=["none", "order"])
def test_shapes_that_are_refused(shapes):
    with pytest.raises(
        ValueError, match="operand_shapes: shapes must be distinct NativeShape members in their order, not"
    ):
        OperandShapesConfig(shapes=shapes)
