"""Load of a tile: operand memory, unpacker, SrcA or SrcB::

      cycle      0          1          2 .. n + 1     n + 2      n + 3      n + 4
      load       address    address    n words        last word  last rows  bank readable
                            exponents                 unpacked   written

Ref: tt-isa-documentation 3930471, UNPACR_Regular.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS
from bitpath.rtl.common.pipeline.word_memory import word_memory
from bitpath.rtl.tensix.engine.command import (
    MAX_ROWS_A_CYCLE_LOG2,
    MAX_ROWS_PER_WORD_LOG2,
    STEPS,
    TILE_ROW_BITS,
    WORD_BITS,
    has_exponents,
    load_layout,
    rows_a_cycle_log2,
    rows_per_word_log2,
)
from bitpath.rtl.tensix.engine.config import TensixEngineConfig
from bitpath.rtl.tensix.engine.l1_port import NEED_BITS, LoadPort
from bitpath.rtl.tensix.matrix.src_register import BANKS, src_write_layout
from bitpath.rtl.tensix.unpack.layouts import EXPONENT_BITS
from bitpath.rtl.tensix.unpack.unpacker import Unpacker


def operand_write_layout(config: TensixEngineConfig) -> data.StructLayout:
    """Return the layout of a word that is written to an operand memory."""
    return data.StructLayout({"data": WORD_BITS, "address": ceil_log2(config.operand_depth)})


def needed_load_layout(config: TensixEngineConfig) -> data.StructLayout:
    """Return a load with the number of the product that needs it."""
    return data.StructLayout({"load": load_layout(config), "need": NEED_BITS})


class State(enum.Enum, shape=2):
    """State of the present load."""

    WAITS = 0  # for a load, for its bank, or for the other loader's address cycles
    ADDRESSES = 1  # second address cycle
    READS = 2


class TileLoader(wiring.Component):
    """An operand memory, its unpacker, and the addresses of a tile's rows.

    A load begins when its bank belongs to the unpacker. It takes two address cycles, then one word of 64 bytes in each cycle in
    which the port grants it; BFP2 takes 16 bytes. Exponents are read in the second address cycle, beside the port.

    Parameters
    ----------
    config : configuration of the engine.

    Members
    -------
    write : In(operand_write_layout), write_valid : In(1)
    load : In(stream of needed_load_layout), taken with the tile's last word
    port : Out(LoadPort)
    free : In(2), the banks that belong to the unpacker
    o : Out(stream of src_write_layout)
    idle : Out(1), no row is on its way to the bank
    """

    def __init__(self, config: TensixEngineConfig):
        self.config = config
        super().__init__(
            {
                "write": In(operand_write_layout(config)),
                "write_valid": In(1),
                "load": In(stream.Signature(needed_load_layout(config))),
                "port": Out(LoadPort),
                "free": In(BANKS),
                "o": Out(stream.Signature(src_write_layout(BLOCK_ROWS))),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        load, port = self.load.p.load, self.port
        m.submodules.unpacker = unpacker = Unpacker(self.config.unpack_conversion)

        # Stage 1 requests a word of the memory; stage 2 holds it.
        state = Signal(State)
        bank = Signal()
        row = Signal(TILE_ROW_BITS)
        advance = Signal()
        word = Signal(WORD_BITS)
        asked, first = Signal.like(self.write.address), Signal.like(self.write.address)
        values = {
            "write_address": self.write.address,
            "write_data": self.write.data,
            "write_enable": self.write_valid,
            "read_address": asked,
            "read_enable": advance,
            "read_data": word,
        }
        word_memory(m, platform, "words", values, self.config.operand_depth)

        steps = data.StructLayout(
            {
                "row": TILE_ROW_BITS,
                "in_word": range(MAX_ROWS_PER_WORD_LOG2 + 1),
                "at_once": range(MAX_ROWS_A_CYCLE_LOG2 + 1),
                "last": 1,
            }
        )
        present, held = Signal(steps), Signal(steps, reset_less=True)
        held_control = Signal.like(load.control, reset_less=True)
        held_valid, held_exponents = Signal(), Signal()
        exponents_asked = Signal()
        after = Signal(TILE_ROW_BITS)
        m.d.comb += [
            port.need.eq(self.load.p.need),
            port.waits.eq(self.load.valid & (state == State.WAITS) & self.free.bit_select(bank, 1)),
            port.addresses.eq(state == State.ADDRESSES),
            port.asks.eq((state == State.READS) & advance),
            present.row.eq(row),
            present.in_word.eq(rows_per_word_log2(load.control.l1_format)),
            present.at_once.eq(rows_a_cycle_log2(load.control.l1_format)),
            after.eq(row + (1 << present.at_once)),
            present.last.eq(after == 0),
            exponents_asked.eq(port.addresses & has_exponents(load.control.l1_format)),
            first.eq(load.address + has_exponents(load.control.l1_format)),
            asked.eq(Mux(exponents_asked, load.address, first + (row >> present.in_word))),
            self.load.ready.eq(port.granted & present.last),
        ]
        with m.Switch(state):
            with m.Case(State.WAITS):
                with m.If(port.begins):
                    m.d.sync += state.eq(State.ADDRESSES)
            with m.Case(State.ADDRESSES):
                with m.If(advance):
                    m.d.sync += state.eq(State.READS)
            with m.Case(State.READS):
                with m.If(port.granted):
                    m.d.sync += row.eq(after)
                    with m.If(present.last):
                        m.d.sync += [state.eq(State.WAITS), bank.eq(~bank)]
        with m.If(advance):
            m.d.sync += [
                held_valid.eq(port.granted),
                held_exponents.eq(exponents_asked),
                held.eq(present),
                held_control.eq(load.control),
            ]

        exponents = Signal(WORD_BITS, reset_less=True)
        request = unpacker.i
        m.d.comb += [
            advance.eq(~held_valid | request.ready),
            request.valid.eq(held_valid),
            request.p.control.eq(held_control),
        ]
        with m.If(held_exponents):
            m.d.sync += exponents.eq(word)
        for in_word, at_once in STEPS:
            with m.If((held.in_word == in_word) & (held.at_once == at_once)):
                bits = WORD_BITS >> (in_word - at_once)
                m.d.comb += request.p.datums[:bits].eq(word.word_select(held.row[at_once:in_word], bits))
        for at_once in range(MAX_ROWS_A_CYCLE_LOG2 + 1):
            with m.If(held.at_once == at_once):
                bits = EXPONENT_BITS << at_once
                found = exponents.word_select(held.row[at_once:], bits)
                m.d.comb += request.p.exponents.as_value()[:bits].eq(found)
        self._write(m, request, held, unpacker)
        return m

    def _write(self, m: Module, request, held, unpacker: Unpacker) -> None:
        """Write the unpacked rows, which leave the unpacker a cycle after their request."""
        written = Signal.like(held, reset_less=True)
        with m.If(request.ready):
            m.d.sync += written.eq(held)
        m.d.comb += [
            self.o.p.row.eq(written.row),
            self.o.p.count.eq(written.at_once),
            self.o.p.last.eq(written.last),
            self.o.valid.eq(unpacker.o.valid),
            unpacker.o.ready.eq(self.o.ready),
            self.idle.eq(~self.load.valid & ~request.valid & ~unpacker.o.valid),
        ]
        for at_once in range(MAX_ROWS_A_CYCLE_LOG2 + 1):
            with m.If(written.at_once == at_once):
                for lane, row in enumerate(self.o.p.values):
                    words = zip(row, unpacker.o.p[lane % (1 << at_once)], strict=True)
                    m.d.comb += [word.eq(unpacked) for word, unpacked in words]
