"""Sequencer of a row tile: loads stationary operands during a multiplication."""

from amaranth import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.rtl.trainium3.array.operand_row import control_layout
from bitpath.rtl.trainium3.dot.element_map import ElementFormat
from bitpath.rtl.trainium3.engine.config import EngineConfig
from bitpath.rtl.trainium3.engine.instruction import count_width


def load_layout(config: EngineConfig) -> data.StructLayout:
    """Layout of a load, whose ``replace`` is set if no multiplication used the previous load."""
    address = ceil_log2(config.array.operand_depth)
    return data.StructLayout({"address": address, "format": ElementFormat, "replace": 1})


def multiply_layout(config: EngineConfig) -> data.StructLayout:
    """Layout of a multiplication, whose ``swap`` is set if operands were loaded since the previous one."""
    address = ceil_log2(config.array.operand_depth)
    return data.StructLayout(
        {"address": address, "format": ElementFormat, "count": count_width(config), "chain_in": 1, "swap": 1}
    )


class Sequencer(wiring.Component):
    """Issues the row control of loads and multiplications, cycle by cycle.

    A load takes ``cols`` cycles and starts when the second copies are free: the previous swap has passed the last column.
    A multiplication takes one cycle for its swap, if any, and one for each word. It stalls for its load, and for each
    chained word until its partial sums are valid.

    Parameters
    ----------
    config : configuration of the engine.

    Members
    -------
    load : In(stream of load_layout), multiply : In(stream of multiply_layout)
    chain_valid : In(1), chain_take : Out(1), handshake of the chained partial sums
    loading : Out(1), an unused load is in flight: rows still read operand memory for it
    control : Out(control_layout)
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "load": In(stream.Signature(load_layout(config))),
                "multiply": In(stream.Signature(multiply_layout(config))),
                "chain_valid": In(1),
                "chain_take": Out(1),
                "loading": Out(1),
                "control": Out(control_layout(config.array)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        cols = self.config.array.cols
        control, load, multiply = self.control, self.load, self.multiply

        loaded = Signal()  # the second copies hold operands of an unused load
        since_swap = Signal(range(cols + 1), init=cols)
        with m.If(since_swap != cols):
            m.d.sync += since_swap.eq(since_swap + 1)

        column = Signal(range(cols))
        m.d.comb += [
            control.stationary_address.eq(load.p.address + (cols - 1) - column),
            control.stationary_format.eq(load.p.format),
        ]
        free = (since_swap == cols) & (~loaded | load.p.replace)
        with m.If(load.valid & (free | column.any())):
            m.d.comb += [control.load.eq(1), load.ready.eq(column == cols - 1)]
            m.d.sync += [column.eq(column + 1), loaded.eq(column == cols - 1)]

        # A used load needs no count: its multiplication's results come after it has passed all rows.
        down = self.config.array.rows * self.config.array.row_latency
        rows_left = Signal(range(down + 1))
        m.d.comb += self.loading.eq(rows_left.any())
        with m.If(control.load):
            m.d.sync += rows_left.eq(down)
        with m.Elif(control.swap):
            m.d.sync += rows_left.eq(0)
        with m.Elif(self.loading):
            m.d.sync += rows_left.eq(rows_left - 1)

        word = Signal(count_width(self.config))
        swapped = Signal()
        m.d.comb += [
            control.moving_address.eq(multiply.p.address + word),
            control.moving_format.eq(multiply.p.format),
        ]
        with m.If(multiply.valid):
            with m.If(multiply.p.swap & ~swapped):
                # A pending load that replaces the present one was issued before this multiplication and belongs to it.
                with m.If(loaded & ~(load.valid & load.p.replace)):
                    m.d.comb += control.swap.eq(1)
                    m.d.sync += [swapped.eq(1), loaded.eq(0), since_swap.eq(0)]
            with m.Elif(~multiply.p.chain_in | self.chain_valid):
                m.d.comb += [control.valid.eq(1), self.chain_take.eq(multiply.p.chain_in)]
                m.d.sync += word.eq(word + 1)
                with m.If(word + 1 == multiply.p.count):
                    m.d.comb += multiply.ready.eq(1)
                    m.d.sync += [word.eq(0), swapped.eq(0)]
        return m
