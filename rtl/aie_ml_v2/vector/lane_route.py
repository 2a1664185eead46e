"""Operands of one lane in the multiply path: of a dense or a sparse product of integers, or half blocks of MX9.

Combinational (cycle 2).
"""

from amaranth import Cat, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import MX9, SPARSE_GROUP
from bitpath.rtl.aie_ml_v2.mac.layouts import DEPTH, LANE_OPERAND_BITS, WORD_BITS
from bitpath.rtl.aie_ml_v2.vector.config import NativeMacConfig, SparseRouteConfig
from bitpath.rtl.aie_ml_v2.vector.native_shapes import NativeShape
from bitpath.rtl.aie_ml_v2.vector.operand_shapes import operands_layout
from bitpath.rtl.aie_ml_v2.vector.sparse_route import SparseRoute
from bitpath.rtl.common.pipeline.shared_instances import instantiate

HALF_BLOCK_BITS = DEPTH * MX9.width


class LaneRoute(wiring.Component):
    """A lane's operands.

    Parameters
    ----------
    config : NativeMacConfig, the products.

    Members
    -------
    native : In(NativeShape), mx9 : In(1), the product
    x, y, mask : In, what `OperandShapes` gives the lane
    block_x, block_y : In(64), half blocks of MX9
    o_x, o_y : Out(128)
    """

    clocked = False

    def __init__(self, config: NativeMacConfig):
        self.config = config
        self.sparse = {shape: route for shape, route in config.routes.items() if route.mask is not None}
        self.apart = bool(self.sparse)
        operands = operands_layout(config.shapes)
        super().__init__(
            {
                "native": In(NativeShape),
                "mx9": In(1),
                **{name: In(operands[name].shape.elem_shape) for name in ("x", "y", "mask")},
                **{f"block_{side}": In(HALF_BLOCK_BITS) for side in "xy"},
                **{f"o_{side}": Out(LANE_OPERAND_BITS) for side in "xy"},
            }
        )

    def elaborate(self, platform):
        m = Module()
        x, y = self.x, self.y
        if self.sparse:
            groups = max(len(route.x(0)) for route in self.sparse.values()) // SPARSE_GROUP
            route = instantiate(m, platform, "route", SparseRoute, SparseRouteConfig(groups=groups))
            wide = [shape for shape, each in self.sparse.items() if each.x_bits == WORD_BITS]
            m.d.comb += [
                route.i.valid.eq(1),
                route.o.ready.eq(1),
                route.i.p.wide.eq(Cat(self.native == shape for shape in wide).any() if wide else 0),
                route.i.p.a.eq(self.x),
                route.i.p.slots.eq(self.y),
                route.i.p.mask.eq(self.mask),
            ]
            sparse = Cat(self.native == shape for shape in self.sparse).any()
            x, y = Mux(sparse, route.o.p.x, x), Mux(sparse, route.o.p.y, y)
        if self.config.mx9:
            x, y = Mux(self.mx9, self.block_x, x), Mux(self.mx9, self.block_y, y)
        m.d.comb += [self.o_x.eq(x), self.o_y.eq(y)]
        return m
