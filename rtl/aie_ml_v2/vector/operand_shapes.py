"""Operand network of the native products (cycle 2): the elements of X and Y that each lane multiplies.

``x[l] = X[places of lane part * lanes + l]``, the first product's element lowest, and ``y[l]`` likewise; the places are those of
`native_shapes`. A broadcast product takes its only element of Y from ``scalar``. A sparse product's x has all entities along k,
its y the slots, and ``mask`` the bytes that they stand for: `SparseRoute` makes its factors of them. Both lanes of a pair get the
operands of their lane of 64 bits.

Ref: AM027, chapter 4, for the permute stage of X and Y.
"""

from collections.abc import Callable, Sequence

from amaranth import Array, Cat, Const, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.aie_ml_v2.declarations.codes import VECTOR_BITS
from bitpath.rtl.aie_ml_v2.mac.config import LANE_BITS
from bitpath.rtl.aie_ml_v2.vector.config import OperandShapesConfig
from bitpath.rtl.aie_ml_v2.vector.native_shapes import NativeShape, Route
from bitpath.rtl.common.unit import INPUTS, OUTPUT, Covered, Unit, WaveGroup

REGISTER_BITS = 2 * VECTOR_BITS
"""Bits of the widest operand, a Y register."""
MASK_BITS = 2 * VECTOR_BITS // 4
"""Bits of the masks of a sparse operand of two EX: one for each byte before compression."""


def registers_layout(config: OperandShapesConfig) -> data.StructLayout:
    """Return the layout of a request: the native product, the group of lanes, operand registers, mask, and the broadcast element."""
    return data.StructLayout(
        {
            "native": NativeShape,
            # Verilog cannot express zero-width wires.
            "part": max(1, ceil_log2(config.parts)),
            "x": REGISTER_BITS,
            "y": REGISTER_BITS,
            "mask": MASK_BITS,
            "scalar": LANE_BITS,
        }
    )


def operands_layout(config: OperandShapesConfig) -> data.StructLayout:
    """Return the layout of the lanes' operands, as wide as the widest of the configured shapes; zeros above others."""
    routes = list(config.routes.values())
    widths = {
        "x": max(route.x_bits * len(route.x(0)) for route in routes),
        "y": max(route.y_bits * len(route.y(0)) for route in routes),
        # Verilog cannot express zero-width wires.
        "mask": max(1, *(route.mask[0] if route.mask else 0 for route in routes)),
    }
    return data.StructLayout({name: data.ArrayLayout(width, config.lanes) for name, width in widths.items()})


class OperandShapes(wiring.Component):
    """Operands of ``lanes`` lanes for a part of a native product, combinational.

    Parameters
    ----------
    config : OperandShapesConfig, the lanes and the shapes.

    Members
    -------
    i : In(stream of registers_layout)
    o : Out(stream of operands_layout)
    """

    clocked = False

    def __init__(self, config: OperandShapesConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(registers_layout(config))),
                "o": Out(stream.Signature(operands_layout(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        i, o = self.i.p, self.o.p
        m.d.comb += [self.o.valid.eq(self.i.valid), self.i.ready.eq(self.o.ready)]
        shared: dict[tuple, Signal] = {}
        for lane in range(self.config.lanes):
            operands = {shape: self._operands(m, shared, route, lane) for shape, route in self.config.routes.items()}
            with m.Switch(i.native):
                for shape, values in operands.items():
                    with m.Case(shape):
                        m.d.comb += [o[name][lane].eq(value) for name, value in values.items()]
        return m

    def _operands(self, m: Module, shared: dict[tuple, Signal], route: Route, lane: int) -> dict[str, Signal]:
        """Return a lane's operands in a shape; lanes and shapes that take the same places share their multiplexer."""
        i = self.i.p
        sources = {"x": (i.x, route.x_bits, route.x)}
        sources["y"] = (i.scalar if route.broadcasts else i.y, route.y_bits, route.y)
        if route.mask is not None:
            sources["mask"] = (i.mask, 1, _bits_from(*route.mask))
        found = {}
        for name, (source, width, places) in sources.items():
            candidates = self._candidates(route, places, lane)
            key = (name, route.broadcasts and name == "y", width, candidates)
            if key not in shared:
                shared[key] = self._chosen(m, f"{name}_{len(shared)}", source, width, candidates)
            found[name] = shared[key]
        return found

    def _candidates(self, route: Route, places: Callable[[int], Sequence[int]], lane: int) -> tuple[Sequence[int], ...]:
        """Return the places that a lane takes in the parts, once where they repeat; lanes beyond the shape's take any."""
        numbers = (part * self.config.lanes + lane for part in range(self.config.parts))
        found = [tuple(places(number // route.halves % route.lanes)) for number in numbers]
        while len(found) > 1 and found[: len(found) // 2] == found[len(found) // 2 :]:
            found = found[: len(found) // 2]
        return tuple(found)

    def _chosen(self, m: Module, name: str, source: Value, width: int, candidates: tuple[Sequence[int], ...]) -> Signal:
        """Return the elements of a register at the places of the part."""
        values = [Cat(source.word_select(place, width) for place in places) for places in candidates]
        part = self.i.p.part[: ceil_log2(len(values))] if len(values) > 1 else Const(0, 1)
        chosen = Signal(width * len(candidates[0]), name=f"chosen_{name}")
        m.d.comb += chosen.eq(Array(values)[part])
        return chosen


def _bits_from(size: int, first: Callable[[int], Sequence[int]]) -> Callable[[int], Sequence[int]]:
    """Return a lane's places of ``size`` mask bits."""
    return lambda lane: range(first(lane)[0], first(lane)[0] + size)


RECORDS = (
    Unit(
        name="operand_shapes",
        config_type=OperandShapesConfig,
        build=OperandShapes,
        summary="AIE-ML v2: elements of X and Y that each lane of a native product multiplies",
        covered=Covered(OperandShapesConfig(), 200),
        waves=(INPUTS, WaveGroup("multiplexers", r"chosen_"), OUTPUT),
    ),
)
