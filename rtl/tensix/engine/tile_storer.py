"""Store of a Dst tile: Dst, packer, result memory.

Ref: tt-isa-documentation 3930471, Packers.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.rtl.tensix.dot.layouts import DstRow
from bitpath.rtl.tensix.engine.command import (
    MAX_ROWS_PER_WORD_LOG2,
    TILE_ROW_BITS,
    TILE_ROWS,
    WORD_BITS,
    WORD_BYTES,
    has_exponents,
    rows_per_word_log2,
    store_layout,
)
from bitpath.rtl.tensix.engine.config import TensixEngineConfig
from bitpath.rtl.tensix.engine.tile_sequencer import tile_mask
from bitpath.rtl.tensix.matrix.dst_register import DstAddress
from bitpath.rtl.tensix.pack.packer import Packer
from bitpath.rtl.tensix.unpack.layouts import EXPONENT_BITS


def result_write_layout(config: TensixEngineConfig) -> data.StructLayout:
    """Return the layout of a write to the result memory, with byte enables."""
    return data.StructLayout({"data": WORD_BITS, "bytes": WORD_BYTES, "address": ceil_log2(config.result_depth)})


class TileStorer(wiring.Component):
    """Reads the rows of a Dst tile, packs them and writes them; block formats write their 64 exponents as one more word.

    Throughput is one row a cycle, one tile at a time.

    Parameters
    ----------
    config : configuration of the engine.

    Members
    -------
    store : In(stream of store_layout), ready while no tile is being stored
    read_dst : Out(stream of DstAddress), dst : In(stream of DstRow)
    old_address : Out, old : In(512), the word of the result memory, one cycle later
    write : Out(result_write_layout)
    packing : Out(16), the 16-bit tiles of Dst that are being packed
    """

    def __init__(self, config: TensixEngineConfig):
        self.config = config
        super().__init__(
            {
                "store": In(stream.Signature(store_layout(config))),
                "read_dst": Out(stream.Signature(DstAddress)),
                "dst": In(stream.Signature(DstRow)),
                "old_address": Out(ceil_log2(config.result_depth)),
                "old": In(WORD_BITS),
                "write": Out(result_write_layout(config)),
                "packing": Out(16),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.packer = packer = Packer(self.config.conversion)
        held = Signal(store_layout(self.config), reset_less=True)
        busy = Signal()
        log = Signal(range(MAX_ROWS_PER_WORD_LOG2 + 1))
        exponents_first = Signal()
        m.d.comb += [
            self.store.ready.eq(~busy),
            log.eq(rows_per_word_log2(held.control.out_format)),
            exponents_first.eq(has_exponents(held.control.out_format)),
            self.packing.eq(Mux(busy, tile_mask(held.dst_tile, held.control.dst32), 0)),
        ]

        asked = Signal(range(TILE_ROWS + 1))  # number of rows requested from Dst
        m.d.comb += [
            self.read_dst.valid.eq(busy & (asked != TILE_ROWS)),
            self.read_dst.p.row.eq(Cat(asked[:TILE_ROW_BITS], held.dst_tile)),
            self.read_dst.p.dst32.eq(held.control.dst32),
            self.read_dst.p.fp16.eq(held.fp16),
        ]
        with m.If(self.read_dst.valid & self.read_dst.ready):
            m.d.sync += asked.eq(asked + 1)

        # A row from Dst waits one cycle for the word of the result memory.
        row = Signal(TILE_ROW_BITS)
        waiting = Signal(DstRow, reset_less=True)
        waiting_row = Signal(TILE_ROW_BITS, reset_less=True)
        waiting_valid = Signal()
        base = held.address + exponents_first
        m.d.comb += [
            self.dst.ready.eq(~waiting_valid | packer.i.ready),
            packer.i.valid.eq(waiting_valid),
            packer.i.p.row.eq(waiting),
            packer.i.p.control.eq(held.control),
            packer.i.p.masked.eq(0),  # no edge mask: tiles are stored whole
            # A stalled row repeats its request, so that its word is stable.
            self.old_address.eq(base + (Mux(self.dst.ready, row, waiting_row) >> log)),
        ]
        with m.If(self.dst.ready):
            m.d.sync += [waiting_valid.eq(self.dst.valid), waiting.eq(self.dst.p), waiting_row.eq(row)]
            with m.If(self.dst.valid):
                m.d.sync += row.eq(row + 1)

        # A separate signal: Verilog's `always @*` would never assign the constant field beside it.
        old = Signal(WORD_BITS)
        m.d.comb += packer.i.p.old.eq(old)
        written = Signal(range(TILE_ROWS + 1))
        exponents = Signal(WORD_BITS, reset_less=True)
        m.d.comb += [packer.o.ready.eq(1), self.write.address.eq(base + (written[:TILE_ROW_BITS] >> log))]
        for log2 in range(MAX_ROWS_PER_WORD_LOG2 + 1):
            with m.If(log == log2):
                index = written[:log2]
                row_bytes = WORD_BYTES >> log2
                m.d.comb += [
                    old.eq(self.old.word_select(waiting_row[:log2], WORD_BITS >> log2)),
                    self.write.data.eq(packer.o.p.datums[: WORD_BITS >> log2].replicate(1 << log2)),
                ]
                with m.If(packer.o.valid):
                    m.d.comb += self.write.bytes.word_select(index, row_bytes).eq(~0)
        with m.If(packer.o.valid):
            m.d.sync += [
                written.eq(written + 1),
                exponents.word_select(written[:TILE_ROW_BITS], EXPONENT_BITS).eq(packer.o.p.exponent),
            ]

        with m.If(busy & (written == TILE_ROWS)):
            with m.If(exponents_first):
                m.d.comb += [
                    self.write.address.eq(held.address),
                    self.write.data.eq(exponents),
                    self.write.bytes.eq(Const(-1, WORD_BYTES)),
                ]
            m.d.sync += [busy.eq(0), asked.eq(0), written.eq(0)]
        with m.If(self.store.valid & self.store.ready):
            m.d.sync += [busy.eq(1), held.eq(self.store.p)]
        return m
