"""Permute network: rows of the X tile and columns of the Y tile to the operands of the lanes (cycle 2).

``lane_x[l] = X[(part * lanes + l) // n]``, ``lane_y[l] = Y[:, (part * lanes + l) % n]`` for the mode's shape [m, k] @ [k, n].
"""

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
    """Select a row of X and a column of Y for every lane of a part; combinational.

    Lanes beyond the mode's tile get don't-care operands.

    Parameters
    ----------
    config : VectorMacConfig, the number of lanes.

    Members
    -------
    mode : In(MacMode)
    part : In, the group of lanes
    x, x_exponents, x_shifts, y, y_exponents, y_shifts : In, as in ``beat_layout``
    lane_x, lane_y : arrays of Out(128), one a lane
    lane_x_exponent, lane_y_exponent, lane_x_shift, lane_y_shift : arrays of Out(8), one a lane
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
                # Lanes with the same row or column share its multiplexer.
                places = tuple(self._places(side, code, lane) for code in MacMode)
                if (side, places) not in selected:
                    selected[side, places] = self._select(m, f"{side}_{lane}", side, places)
                for name, value in zip(("", "_exponent", "_shift"), selected[side, places], strict=True):
                    m.d.comb += getattr(self, f"lane_{side}{name}")[lane].eq(value)
        return m

    def _places(self, side: str, code: MacMode, lane: int) -> tuple[range, range]:
        """Return the rows or columns that a lane takes in the parts of a mode, and the bits of ``part`` that select one."""
        shape, lanes = _row_of(code).shapes[0], self.config.lanes
        if lanes >= shape.n:
            if side == "y":
                return range(lane % shape.n, lane % shape.n + 1), range(0)
            # Lanes beyond the tile take row 0.
            rows = range(lane // shape.n, shape.m, lanes // shape.n) or range(1)
            return rows, range(ceil_log2(len(rows)))
        low = ceil_log2(shape.n // lanes)
        if side == "y":
            return range(lane, shape.n, lanes), range(low)
        return range(shape.m), range(low, low + ceil_log2(shape.m))

    def _select(
        self, m: Module, name: str, side: str, places: tuple[tuple[range, range], ...]
    ) -> tuple[Value, Value, Value]:
        """Return a row or a column selected by mode and part, and the exponent and shifts of its block."""
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
    """Return a row of consecutive elements; half a row in MX9."""
    mode = _row_of(code)
    depth = mode.shapes[0].k // TIMINGS[mode.datapath].issue_interval
    return tile.word_select(place, depth * ELEMENT_BITS[mode.name])


def _column(tile: Value, code: MacMode, place: int) -> Value:
    """Return a column of Y; the columns of MX are consecutive elements."""
    shape = _row_of(code).shapes[0]
    if shape.transposed:
        return _row(tile, code, place)
    return Cat(tile.word_select(k * shape.n + place, ELEMENT_BITS[_row_of(code).name]) for k in range(shape.k))
