"""TensorE's background slot: a transpose beside the array.

SBUF -> an element of each row a cycle -> background transpose -> results of a row -> PSUM's background lane
"""

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.pipeline.wide import wide_array
from bitpath.rtl.trainium3.array.psum_memory import HALF, psum_command
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import tensor_layout
from bitpath.rtl.trainium3.core.lane_reader import WORD_BITS
from bitpath.rtl.trainium3.core.quarters import QUARTERS, turned
from bitpath.rtl.trainium3.memory.config import SBUF_WORD_BYTES
from bitpath.rtl.trainium3.memory.sbuf import sbuf_place
from bitpath.rtl.trainium3.tensor.background_transpose import BackgroundTranspose
from bitpath.rtl.trainium3.tensor.config import TransposeConfig
from bitpath.rtl.trainium3.tensor.operand import PASS_BITS


class BackgroundSlot(wiring.Component):
    """Runs one transpose after the other.

    Latency: PSUM gets the first result ``columns + 3`` cycles after the instruction. Throughput: a column of the stationary operand
    a cycle, then a result a cycle.

    Parameters
    ----------
    config : the core's.

    Members
    -------
    i : In(stream of tensor_layout), instructions of mode PASS that `TensorSlots` has checked; ready while the slot is idle
    read : Out(stream of sbuf_place, always ready); data : In, SBUF's words, a cycle later
    command : Out(stream of psum_command), o : Out(stream of 32 bits for each column)
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(tensor_layout(config))),
                "read": Out(stream.Signature(sbuf_place(config.sbuf), always_ready=True)),
                "data": In(8 * SBUF_WORD_BYTES * config.size),
                "command": Out(stream.Signature(psum_command(config.psum))),
                "o": Out(stream.Signature(wide_array(FP32.width, config.size))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        held = Signal(tensor_layout(config), reset_less=True)
        column, byte = Signal(range(config.size)), Signal(config.walk.address_bits)
        asks, last = Signal(), Signal()
        unit = instantiate(m, platform, "transpose", BackgroundTranspose, TransposeConfig(size=config.size))
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(self.i.valid):
                    m.d.sync += [held.eq(self.i.p), column.eq(0)]
                    m.next = "COMMAND"
            with m.State("COMMAND"):
                m.d.comb += self.command.valid.eq(1)
                with m.If(self.command.ready):
                    m.next = "READ"
            with m.State("READ"):
                m.d.comb += asks.eq(1)
                m.d.sync += column.eq(column + 1)
                with m.If(last):
                    m.next = "WRITE"
            with m.State("WRITE"):
                with m.If(self.o.valid & self.o.ready & unit.o.p.last):
                    m.next = "IDLE"
        m.d.comb += [
            last.eq(column == held.columns - 1),
            byte.eq(held.stationary + (column << HALF)),
            self.read.valid.eq(asks),
            self.read.p.start.eq(held.start << exact_log2(config.size // QUARTERS)),
            self.read.p.partitions.eq(held.rows),
            self.read.p.word.eq(byte >> WORD_BITS),
        ]
        came, ends = Signal(), Signal()
        place = Signal(WORD_BITS, reset_less=True)
        m.d.sync += [came.eq(asks), ends.eq(last), place.eq(byte)]
        found = Cat(
            (self.data.word_select(p, 8 * SBUF_WORD_BYTES) >> (place << 3))[:PASS_BITS] for p in range(config.size)
        )
        m.d.comb += [
            # A bank of registers is free, since the transpose before has left the unit.
            unit.i.valid.eq(came),
            Value.cast(unit.i.p.elements).eq(turned(found, held.start, PASS_BITS)),
            unit.i.p.last_column.eq(held.rows - 1),
            unit.i.p.last.eq(ends),
            self.o.valid.eq(unit.o.valid),
            unit.o.ready.eq(self.o.ready),
            *(result.eq(element) for result, element in zip(self.o.p, unit.o.p.elements, strict=True)),
            self.command.p.pairs.eq(held.result.pairs),
            self.command.p.offset.eq(held.result.offset),
            self.command.p.size.eq(HALF),
            self.command.p.bank.eq(held.bank),
            self.command.p.store.eq(1),
            self.command.p.columns.eq((1 << held.columns) - 1),
        ]
        return m
