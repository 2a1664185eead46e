"""Multiply path of 64 lanes: operand registers to matrix products, with accumulators added.

::

    cycle   1                    2                                       3 to 6, MX9 7
    a, b -> [register] -> OperandShapes -> LaneRoute -> WideLanes, 32 pairs -> o
                       -> half blocks of MX9 --^
                                                          acc1 in cycle 4, MX9 5

An MX9 product takes two requests, one cycle after the other: the halves of k 0 to 7, then those of k 8 to 15. Its cycles count
from the first one.

Ref: AM027, chapter 4, for the units; llvm-aie, AIE2PSGenSchedule.td, for the cycles.
"""

from amaranth import Cat, EnableInserter, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import VECTOR_BITS
from bitpath.golden.aie_ml_v2.declarations.modes import INT8, INT32X16, MX9_MODE
from bitpath.rtl.aie_ml_v2.mac.layouts import BYTE, LANE_BITS
from bitpath.rtl.aie_ml_v2.mac.mac_mode import MacMode
from bitpath.rtl.aie_ml_v2.mac.wide_lanes import HALVES, WIDE_BITS, LaneWidth, WideLanes
from bitpath.rtl.aie_ml_v2.vector.config import NativeMacConfig
from bitpath.rtl.aie_ml_v2.vector.lane_route import HALF_BLOCK_BITS, LaneRoute
from bitpath.rtl.aie_ml_v2.vector.native_shapes import NativeShape, Route
from bitpath.rtl.aie_ml_v2.vector.operand_shapes import OperandShapes
from bitpath.rtl.common.pipeline.shared_instances import instantiate

LANES = INT8.lanes
ACCUMULATOR_BITS = LANES * LANE_BITS
OPERAND = data.StructLayout({"x": 2 * VECTOR_BITS, "g": VECTOR_BITS // 4, "e": VECTOR_BITS // 4})
"""Layout of an operand of at most an EY: bits of X, of G and of E, the low register's below the high one's."""
NATIVE_REQUEST = data.StructLayout(
    {
        "mx9": 1,
        "high": 1,  # the second request of an MX9 product
        "native": NativeShape,  # of others
        "accumulates": 1,
        "a_signed": 1,
        "b_signed": 1,
        "a": OPERAND,
        "b": OPERAND,
    }
)
"""Layout of a product ``A @ B``, added to acc1 if it accumulates."""


class NativeMac(wiring.Component):
    """A request a cycle. Structural hazard: nothing but the second request may follow the first one of an MX9 product.

    Parameters
    ----------
    config : NativeMacConfig, the products and the numerics.

    Members
    -------
    advance : In(1), clock enable of all registers; cycles without it do not count
    valid : In(1)
    request : In(NATIVE_REQUEST)
    acc1 : In(2048), two cycles before the result
    o : Out(2048), lane 0 lowest
    """

    def __init__(self, config: NativeMacConfig):
        self.config = config
        super().__init__(
            {
                "advance": In(1),
                "valid": In(1),
                "request": In(NATIVE_REQUEST),
                "acc1": In(ACCUMULATOR_BITS),
                "o": Out(ACCUMULATOR_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        taken = Signal()
        request = Signal(NATIVE_REQUEST, reset_less=True)
        m.d.sync += taken.eq(self.valid)
        with m.If(self.valid):
            m.d.sync += request.eq(self.request)
        operands = self._operands(m, platform, request)
        mode, width = self._mode(m, request)
        pairs = []
        for number in range(LANES // HALVES):
            pair = instantiate(m, platform, f"pair_{number}", WideLanes, self.config.lanes)
            m.d.comb += [
                pair.advance.eq(self.advance),
                pair.valid.eq(taken),
                pair.width.eq(width),
                pair.acc1.eq(self.acc1.word_select(number, WIDE_BITS)),
            ]
            for half, lane in enumerate(pair.operands):
                control = lane.control
                m.d.comb += [
                    control.mode.eq(mode),
                    control.x_signed.eq(request.a_signed),
                    control.y_signed.eq(request.b_signed),
                    control.multiplies.eq(1),
                    control.zero_acc1.eq(~request.accumulates),
                    lane.high.eq(request.high),
                    *(lane[name].eq(value) for name, value in operands[HALVES * number + half].items()),
                ]
            pairs.append(pair)
        m.d.comb += self.o.eq(Cat(pair.o for pair in pairs))
        return EnableInserter(self.advance)(m)

    def _mode(self, m: Module, request: data.View) -> tuple[Value, Value]:
        """Return the mode of each lane, and the width of the lanes."""
        mode, width = Signal(MacMode), Signal(LaneWidth)
        with m.If(request.mx9):
            m.d.comb += mode.eq(MacMode.MX9)
        with m.Else(), m.Switch(request.native):
            for shape, route in self.config.routes.items():
                with m.Case(shape):
                    m.d.comb += [mode.eq(_lane_mode(route)), width.eq(_lane_width(route))]
        return mode, width

    def _operands(self, m: Module, platform, request: data.View) -> list[dict[str, Value]]:
        """Return the operands of each lane."""
        shapes = instantiate(m, platform, "shapes", OperandShapes, self.config.shapes)
        # A chunk's mask is G of its register, that of the next one E.
        mask = [request.b[name].word_select(half, VECTOR_BITS // 8) for half in range(2) for name in "ge"]
        m.d.comb += [
            shapes.i.valid.eq(1),
            shapes.o.ready.eq(1),
            shapes.i.p.native.eq(request.native),
            shapes.i.p.x.eq(request.a.x),
            shapes.i.p.y.eq(request.b.x),
            shapes.i.p.mask.eq(Cat(mask)),
        ]
        return [self._lane(m, platform, request, lane, shapes) for lane in range(LANES)]

    def _lane(self, m: Module, platform, request: data.View, lane: int, shapes: OperandShapes) -> dict[str, Value]:
        """Return the operands of a lane: a row of A and a column of B, and the bytes of their blocks."""
        route = instantiate(m, platform, f"route_{lane}", LaneRoute, self.config)
        m.d.comb += [
            route.native.eq(request.native),
            route.mx9.eq(request.mx9),
            *(getattr(route, name).eq(shapes.o.p[name][lane]) for name in ("x", "y", "mask")),
        ]
        found: dict[str, Value] = {}
        row, column = divmod(lane, MX9_MODE.shapes[0].n)
        for side, operand, place in (("x", request.a, row), ("y", request.b, column)):
            m.d.comb += getattr(route, f"block_{side}").eq(operand.x.word_select(place, HALF_BLOCK_BITS))
            found[side] = getattr(route, f"o_{side}")
            found[f"{side}_exponent"] = operand.e.word_select(place, BYTE)
            found[f"{side}_shift"] = operand.g.word_select(place, BYTE)
        return found


def _lane_mode(route: Route) -> MacMode:
    is_byte = route.lane_bits == LANE_BITS and route.x_bits == INT8.a_bits
    return MacMode.INT8 if is_byte else MacMode.INT16


def _lane_width(route: Route) -> LaneWidth:
    if route.lane_bits == LANE_BITS:
        return LaneWidth.BITS32
    return LaneWidth.INT32X16 if route.x_bits == INT32X16.a_bits else LaneWidth.INT16_64
