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

from dataclasses import dataclass

from amaranth import Cat, EnableInserter, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import MX9, SPARSE_GROUP, SPARSE_KEPT, VECTOR_BITS
from bitpath.golden.aie_ml_v2.declarations.modes import INT8, INT32X16, MX9_MODE
from bitpath.rtl.aie_ml_v2.mac.config import BYTE, DEPTH, LANE_BITS, LANE_OPERAND_BITS, WORD_BITS, MacMode
from bitpath.rtl.aie_ml_v2.mac.wide_lanes import HALVES, WIDE_BITS, LaneWidth, WideLanes
from bitpath.rtl.aie_ml_v2.vector.config import NativeMacConfig
from bitpath.rtl.aie_ml_v2.vector.native_shapes import NativeShape, Route
from bitpath.rtl.aie_ml_v2.vector.operand_shapes import OperandShapes, operands_layout
from bitpath.rtl.common.config import UnitConfig, in_range
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup


@dataclass(frozen=True, kw_only=True)
class SparseRouteConfig(UnitConfig, unit="sparse_route"):
    """Configuration of the routing of one lane's sparse operand.

    Attributes
    ----------
    groups : groups of four entities; 4 in the native shapes, 2 of them in INT16 with 64-bit lanes.
    """

    groups: int = in_range(1, 4, 4)


# Operands of the two multipliers of a sparse group: 3:1 multiplexers on the dense operand, selected by the group's mask.
#
#     low slot  <- entity 0, 1 or 2          high slot <- entity 1, 2 or 3          no entity: both factors are 0
#
# A mask of three or four bits selects nothing. Ref: FIM43-Redeye/xdna-emu, from AMD's model of AIE2, for the selects; UG1583.


class SparseGroup(wiring.Component):
    """Route the entities of A that a group's two slots multiply; combinational.

    Members
    -------
    a : In(ArrayLayout(16, 4)), entities of the dense operand
    slots : In(ArrayLayout(16, 2)), the low slot first
    mask : In(4), bit i for entity i
    x, y : Out(ArrayLayout(16, 2)), the factors of either slot
    overfull : Out(1), 1 if the mask has more than two bits
    """

    clocked = False
    apart = True

    def __init__(self):
        pair = data.ArrayLayout(WORD_BITS, SPARSE_KEPT)
        super().__init__(
            {
                "a": In(data.ArrayLayout(WORD_BITS, SPARSE_GROUP)),
                "slots": In(pair),
                "mask": In(SPARSE_GROUP),
                "x": Out(pair),
                "y": Out(pair),
                "overfull": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m0, m1, m2, m3 = self.mask
        m.d.comb += self.overfull.eq((m0 & m1 & (m2 | m3)) | (m2 & m3 & (m0 | m1)))
        # At most two bits are set, so a set pair leaves the others 0.
        selects = ((m0, ~m0 & m1, m2 & m3), (m0 & m1, m2 & ~m3, m3))
        for slot, select in enumerate(selects):
            enable = Signal(len(select), name=f"enable_{slot}")
            m.d.comb += [
                enable.eq(Cat(select) & (~self.overfull).replicate(len(select))),
                self.x[slot].eq(_one_of(enable, [self.a[slot + k] for k in range(len(select))])),
                self.y[slot].eq(self.slots[slot] & enable.any().replicate(WORD_BITS)),
            ]
        return m


def _one_of(enable: Value, values: list[Value]) -> Value:
    """Return the value whose bit is set, or 0 without a set bit."""
    chosen = [value & enable[k].replicate(WORD_BITS) for k, value in enumerate(values)]
    return chosen[0] | chosen[1] | chosen[2]


# Routing of a sparse operand (cycle 2): the slots of a column of B, and the entities of a row of A that they multiply.
#
# ``x[s] = a[position of slot s]``, ``y[s] = slot s``, both 0 for a slot that holds nothing. The mask has a bit for each byte; an
# entity of 16 bits is present if either of its bytes is.
#
# Ref: UG1583, Compressed Sparse Load Operations; UG1603, Sparse Matrix Multiplication.


def routed_layout(config: SparseRouteConfig) -> data.StructLayout:
    """Return the layout of the factors; ``overfull`` is 1 if a group's mask has more than two bits."""
    bits = SPARSE_KEPT * config.groups * WORD_BITS
    return data.StructLayout({"x": bits, "y": bits, "overfull": 1})


def sparse_layout(config: SparseRouteConfig) -> data.StructLayout:
    """Return the layout of a row of A and a column of B: element 0 lowest, of 16 bits if ``wide``, else of 8.

    ``slots`` holds the low and the high slot of group 0, then of group 1 and so on. ``mask`` has a bit for each byte of ``a``.
    """
    entities = SPARSE_GROUP * config.groups
    return data.StructLayout(
        {
            "wide": 1,
            "a": entities * WORD_BITS,
            "slots": SPARSE_KEPT * config.groups * WORD_BITS,
            "mask": entities * WORD_BITS // BYTE,
        }
    )


class SparseRoute(wiring.Component):
    """Factors of a lane's products with a sparse operand, combinational.

    Parameters
    ----------
    config : SparseRouteConfig, the number of groups.

    Members
    -------
    i : In(stream of sparse_layout)
    o : Out(stream of routed_layout)
    """

    clocked = False

    def __init__(self, config: SparseRouteConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(sparse_layout(config))),
                "o": Out(stream.Signature(routed_layout(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        i, o = self.i.p, self.o.p
        m.d.comb += [self.o.valid.eq(self.i.valid), self.i.ready.eq(self.o.ready)]
        x, y, overfull = [], [], []
        for g in range(self.config.groups):
            group = instantiate(m, platform, f"group_{g}", SparseGroup)
            for k in range(SPARSE_GROUP):
                entity = SPARSE_GROUP * g + k
                present = i.mask.word_select(entity, WORD_BITS // BYTE).any()
                m.d.comb += [
                    group.a[k].eq(self._entity(i.a, entity)),
                    group.mask[k].eq(Mux(i.wide, present, i.mask[entity])),
                ]
            for k in range(SPARSE_KEPT):
                m.d.comb += group.slots[k].eq(self._entity(i.slots, SPARSE_KEPT * g + k))
                x.append(group.x[k])
                y.append(group.y[k])
            overfull.append(group.overfull)
        m.d.comb += [o.x.eq(self._packed(x)), o.y.eq(self._packed(y)), o.overfull.eq(Cat(overfull).any())]
        return m

    def _entity(self, packed: Value, place: int) -> Value:
        """Return an entity, with zeros above a byte."""
        return Mux(self.i.p.wide, packed.word_select(place, WORD_BITS), packed.word_select(place, BYTE))

    def _packed(self, words: list[Signal]) -> Value:
        return Mux(self.i.p.wide, Cat(words), Cat(word[:BYTE] for word in words))


# Operands of one lane in the multiply path: of a dense or a sparse product of integers, or half blocks of MX9.
#
# Combinational (cycle 2).


HALF_BLOCK_BITS = DEPTH * MX9.width


class LaneRoute(wiring.Component):
    """Operands of a lane from the registers.

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
    """It takes a request a cycle. Structural hazard: nothing but the second request may follow the first one of an MX9
    product.

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


RECORDS = (
    Unit(
        name="sparse_route",
        config_type=SparseRouteConfig,
        build=SparseRoute,
        summary="AIE-ML v2: factors of a lane's products with a sparse operand, by the mask",
        covered=Covered(SparseRouteConfig(), 400),
        judges=(Judge(52, SparseRouteConfig()),),
        waves=(INPUTS, WaveGroup("groups", r"group_"), OUTPUT),
    ),
)
