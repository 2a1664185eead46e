"""Tiles to the operands of lanes: the second stage."""

from amaranth import Array, Cat, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.spec.aie_ml_v2_modes import MODES, MX9_MODE, TIMINGS, Shape
from bitpath.rtl.aie_ml_v2.config import VectorMacConfig
from bitpath.rtl.aie_ml_v2.layouts import (
    BYTE,
    ELEMENT_BITS,
    LANE_OPERAND_BITS,
    X_BITS,
    X_BLOCKS,
    Y_BITS,
    Y_BLOCKS,
    MacMode,
)


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
        for lane in range(self.config.lanes):
            with m.Switch(self.mode):
                for code in MacMode:
                    mode, width = MODES[code.name.lower()], ELEMENT_BITS[code.name.lower()]
                    shape, beats = mode.shapes[0], TIMINGS[mode.datapath].issue_interval
                    rows, row_select, columns, column_select = self._candidates(shape, lane)
                    x = [_row(self.x, shape.k // beats, width, row) for row in rows]
                    y = [_column(self.y, shape, beats, width, column) for column in columns]
                    with m.Case(code):
                        m.d.comb += [
                            self.lane_x[lane].eq(_chosen(x, row_select)),
                            self.lane_y[lane].eq(_chosen(y, column_select)),
                        ]
            rows, row_select, columns, column_select = self._candidates(MX9_MODE.shapes[0], lane)
            for name in ("exponent", "shift"):
                x = [getattr(self, f"x_{name}s").word_select(row, BYTE) for row in rows]
                y = [getattr(self, f"y_{name}s").word_select(column, BYTE) for column in columns]
                m.d.comb += [
                    getattr(self, f"lane_x_{name}")[lane].eq(_chosen(x, row_select)),
                    getattr(self, f"lane_y_{name}")[lane].eq(_chosen(y, column_select)),
                ]
        return m

    def _candidates(self, shape: Shape, lane: int) -> tuple[range, Value, range, Value]:
        """Rows and columns of a shape that a lane may have, each with the bits of the part that choose among them."""
        lanes, part = self.config.lanes, self.part
        if lanes >= shape.n:
            rows = range(lane // shape.n, shape.m, lanes // shape.n) or range(1)
            return rows, part[: ceil_log2(len(rows))], range(lane % shape.n, lane % shape.n + 1), part[:0]
        low = ceil_log2(shape.n // lanes)
        columns = range(lane, shape.n, lanes)
        return range(shape.m), part[low : low + ceil_log2(shape.m)], columns, part[:low]


def _chosen(values: list[Value], select: Value) -> Value:
    return values[0] if len(values) == 1 else Array(values)[select]


def _row(x: Value, depth: int, width: int, row: int) -> Value:
    return x.word_select(row, depth * width)


def _column(y: Value, shape: Shape, beats: int, width: int, column: int) -> Value:
    """A column of Y; MX's lie one after the other."""
    if shape.transposed:
        return _row(y, shape.k // beats, width, column)
    return Cat(y.word_select(k * shape.n + column, width) for k in range(shape.k))
