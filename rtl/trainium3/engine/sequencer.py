"""One row tile's sequencer: loads stationary operands behind the multiplication that goes on."""

from amaranth import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.rtl.trainium3.array.operand_row import control_layout
from bitpath.rtl.trainium3.dot.element_map import ElementFormat
from bitpath.rtl.trainium3.engine.config import EngineConfig
from bitpath.rtl.trainium3.engine.instruction import count_width


def load_layout(config: EngineConfig) -> data.StructLayout:
    """A load; ``replace`` says that the operands loaded before were never used."""
    address = ceil_log2(config.array.operand_depth)
    return data.StructLayout({"address": address, "format": ElementFormat, "replace": 1})


def multiply_layout(config: EngineConfig) -> data.StructLayout:
    """A multiplication; ``swap`` says that it uses operands loaded since the one before."""
    address = ceil_log2(config.array.operand_depth)
    return data.StructLayout(
        {"address": address, "format": ElementFormat, "count": count_width(config), "chain_in": 1, "swap": 1}
    )


class Sequencer(wiring.Component):
    """Turns loads and multiplications into the control of a tile's rows, cycle by cycle.

    A load takes ``cols`` cycles and begins once the second copies are free: when the swap before it has passed the last
    column. A multiplication takes a cycle for its swap, if it has one, and one for each word; it waits for its load, and
    word by word for the partial sums that it continues.

    Parameters
    ----------
    config : of the engine.

    Members
    -------
    load : In(stream of load_layout), multiply : In(stream of multiply_layout)
    chain_valid : In(1), a vector of partial sums waits; chain_take : Out(1), it is used in this cycle
    loading : Out(1), a load that no multiplication uses yet is on its way down the rows, which read operand memory for it
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

        loaded = Signal()  # the second copies hold operands that no multiplication uses yet
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

        # A load in use needs no such count: its multiplication's results come later than it has passed.
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
                # A load that still waits to replace what is loaded was sent before this multiplication, and is its own.
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
