"""Tiles to the operands of lanes: the second stage."""

from amaranth import Array, Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.aie_ml_v2.declarations.modes import MODES, TIMINGS, Mode
from bitpath.rtl.aie_ml_v2.mac.layouts import BYTE, ELEMENT_BITS, LANE_OPERAND_BITS
from bitpath.rtl.aie_ml_v2.mac.mac_mode import MacMode
from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig
from bitpath.rtl.aie_ml_v2.vector.layouts import X_BITS, X_BLOCKS, Y_BITS, Y_BLOCKS


class Permute(wiring.Component):
    """A row of X and a column of Y for every lane of a part. Combinational.

    Lanes of a mode that the part does not have take what is there.

    Parameters
    ----------
    config : of the vector unit.

    Members
    -------
    mode : In(MacMode)
    part : In
    x, x_exponents, x_shifts, y, y_exponents, y_shifts : In, as in ``beat_layout``
    lane_x, lane_y, lane_x_exponent, lane_y_exponent, lane_x_shift, lane_y_shift : arrays of Out, a lane each
    """

    clocked = False

    def __init__(self, config: VectorMacConfig):
        self.config = config
        members = {"mode": In(MacMode), "part": In(ceil_log2(config.parts))}
        for side, bits, blocks in (("x", X_BITS, X_BLOCKS), ("y", Y_BITS, Y_BLOCKS)):
            members |= {side: In(bits)}
            members |= {f"{side}_{name}s": In(blocks * BYTE) for name in ("exponent", "shift")}
            members |= {f"lane_{side}": Out(LANE_OPERAND_BITS).array(config.lanes)}
            members |= {f"lane_{side}_{name}": Out(BYTE).array(config.lanes) for name in ("exponent", "shift")}
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        selected: dict[tuple, tuple[Value, Value, Value]] = {}
        for lane in range(self.config.lanes):
            for side in "xy":
                # Many lanes have the same row, or the same column: they share what selects it.
                places = tuple(self._places(side, code, lane) for code in MacMode)
                if (side, places) not in selected:
                    selected[side, places] = self._select(m, f"{side}_{lane}", side, places)
                for name, value in zip(("", "_exponent", "_shift"), selected[side, places], strict=True):
                    m.d.comb += getattr(self, f"lane_{side}{name}")[lane].eq(value)
        return m

    def _places(self, side: str, code: MacMode, lane: int) -> tuple[range, range]:
        """Rows or columns of a mode's tile that a lane may have, and the bits of the part that choose among them."""
        shape, lanes = _row_of(code).shapes[0], self.config.lanes
        if lanes >= shape.n:
            if side == "y":
                return range(lane % shape.n, lane % shape.n + 1), range(0)
            # Lanes beyond the tile have its first row.
            rows = range(lane // shape.n, shape.m, lanes // shape.n) or range(1)
            return rows, range(ceil_log2(len(rows)))
        low = ceil_log2(shape.n // lanes)
        if side == "y":
            return range(lane, shape.n, lanes), range(low)
        return range(shape.m), range(low, low + ceil_log2(shape.m))

    def _select(
        self, m: Module, name: str, side: str, places: tuple[tuple[range, range], ...]
    ) -> tuple[Value, Value, Value]:
        """A row or a column by mode and part, and its block's exponent and shifts."""
        element = _row if side == "x" else _column
        tile = getattr(self, side)
        operand = Signal(LANE_OPERAND_BITS, name=f"operand_{name}")
        with m.Switch(self.mode):
            for code, (candidates, bits) in zip(MacMode, places, strict=True):
                with m.Case(code):
                    m.d.comb += operand.eq(self._chosen([element(tile, code, each) for each in candidates], bits))
        blocks = places[MacMode.MX9.value]
        exponent, shift = (
            self._chosen([getattr(self, f"{side}_{kind}").word_select(each, BYTE) for each in blocks[0]], blocks[1])
            for kind in ("exponents", "shifts")
        )
        return operand, exponent, shift

    def _chosen(self, values: list[Value], bits: range) -> Value:
        return values[0] if len(values) == 1 else Array(values)[self.part[bits.start : bits.stop]]


def _row_of(code: MacMode) -> Mode:
    return MODES[code.name.lower()]


def _row(tile: Value, code: MacMode, place: int) -> Value:
    """A row of elements one after the other; of MX9 half of one."""
    mode = _row_of(code)
    depth = mode.shapes[0].k // TIMINGS[mode.datapath].issue_interval
    return tile.word_select(place, depth * ELEMENT_BITS[mode.name])


def _column(tile: Value, code: MacMode, place: int) -> Value:
    """A column of Y; MX's lie one after the other."""
    shape = _row_of(code).shapes[0]
    if shape.transposed:
        return _row(tile, code, place)
    return Cat(tile.word_select(k * shape.n + place, ELEMENT_BITS[_row_of(code).name]) for k in range(shape.k))
