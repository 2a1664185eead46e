"""Load of a tile: operand memory, unpacker, SrcA or SrcB.

Ref: tt-isa-documentation 3930471, UNPACR_Regular.
"""

from amaranth import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.rtl.common.pipeline.word_memory import word_memory
from bitpath.rtl.tensix.engine.command import (
    MAX_ROWS_PER_WORD_LOG2,
    TILE_ROW_BITS,
    TILE_ROWS,
    WORD_BITS,
    has_exponents,
    load_layout,
    rows_per_word_log2,
)
from bitpath.rtl.tensix.engine.config import TensixEngineConfig
from bitpath.rtl.tensix.matrix.src_register import SrcWrite
from bitpath.rtl.tensix.unpack.layouts import EXPONENT_BITS
from bitpath.rtl.tensix.unpack.unpacker import Unpacker


def operand_write_layout(config: TensixEngineConfig) -> data.StructLayout:
    """Return the layout of a word that is written to an operand memory."""
    return data.StructLayout({"data": WORD_BITS, "address": ceil_log2(config.operand_depth)})


class TileLoader(wiring.Component):
    """An operand memory, its unpacker, and the addresses of a tile's rows.

    Throughput is one row a cycle, plus one cycle for the exponents of block floats. It stalls while the bank belongs to
    the Matrix unit.

    Parameters
    ----------
    config : configuration of the engine.

    Members
    -------
    write : In(operand_write_layout), write_valid : In(1)
    load : In(stream of load_layout), taken with the tile's last row
    o : Out(stream of SrcWrite)
    idle : Out(1), no row is on its way to the bank
    """

    def __init__(self, config: TensixEngineConfig):
        self.config = config
        super().__init__(
            {
                "write": In(operand_write_layout(config)),
                "write_valid": In(1),
                "load": In(stream.Signature(load_layout(config))),
                "o": Out(stream.Signature(SrcWrite)),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        load = self.load
        m.submodules.unpacker = unpacker = Unpacker(self.config.conversion)

        # Stage 1 requests a word of the memory; stage 2 holds it.
        row = Signal(TILE_ROW_BITS)
        exponents_asked = Signal()  # of the tile that is being read
        asks_exponents = Signal()
        log = Signal(range(MAX_ROWS_PER_WORD_LOG2 + 1))
        advance = Signal()
        word = Signal(WORD_BITS)
        asked = Signal.like(self.write.address)
        values = {
            "write_address": self.write.address,
            "write_data": self.write.data,
            "write_enable": self.write_valid,
            "read_address": asked,
            "read_enable": advance,
            "read_data": word,
        }
        word_memory(m, platform, "words", values, self.config.operand_depth)
        m.d.comb += [
            log.eq(rows_per_word_log2(load.p.control.l1_format)),
            asks_exponents.eq(has_exponents(load.p.control.l1_format) & ~exponents_asked),
            asked.eq(load.p.address + (row >> log) + exponents_asked),
            load.ready.eq(advance & ~asks_exponents & (row == TILE_ROWS - 1)),
        ]
        held = Signal(data.StructLayout({"row": TILE_ROW_BITS, "log": log.shape(), "is_exponents": 1}), reset_less=True)
        held_control = Signal.like(load.p.control, reset_less=True)
        held_valid = Signal()
        with m.If(advance):
            m.d.sync += [
                held_valid.eq(load.valid),
                held.row.eq(row),
                held.log.eq(log),
                held.is_exponents.eq(asks_exponents),
                held_control.eq(load.p.control),
            ]
            with m.If(load.valid):
                with m.If(asks_exponents):
                    m.d.sync += exponents_asked.eq(1)
                with m.Else():
                    m.d.sync += row.eq(row + 1)
                with m.If(load.ready):
                    m.d.sync += exponents_asked.eq(0)

        exponents = Signal(WORD_BITS, reset_less=True)
        request = unpacker.i
        m.d.comb += [
            advance.eq(~held_valid | held.is_exponents | request.ready),
            request.valid.eq(held_valid & ~held.is_exponents),
            request.p.exponent.eq(exponents.word_select(held.row, EXPONENT_BITS)),
            request.p.control.eq(held_control),
        ]
        with m.If(held_valid & held.is_exponents):
            m.d.sync += exponents.eq(word)
        with m.Switch(held.log):
            for log2 in range(MAX_ROWS_PER_WORD_LOG2 + 1):
                with m.Case(log2):
                    m.d.comb += request.p.datums.eq(word.word_select(held.row[:log2], WORD_BITS >> log2))

        written = Signal(TILE_ROW_BITS)
        m.d.comb += [
            self.o.p.row.eq(written),
            self.o.p.last.eq(written == TILE_ROWS - 1),
            *(word.eq(unpacked) for word, unpacked in zip(self.o.p.values, unpacker.o.p, strict=True)),
            self.o.valid.eq(unpacker.o.valid),
            unpacker.o.ready.eq(self.o.ready),
            self.idle.eq(~self.load.valid & ~held_valid & ~unpacker.o.valid),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += written.eq(written + 1)
        return m
