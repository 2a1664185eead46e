"""Store of a Dst tile: Dst, packer, result memory::

      cycle   0       1 .. 32          33               34              38        39
      tile    taken   rows requested   last Dst rows    last packed     written   exponents

Ref: tt-isa-documentation 3930471, Packers.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.rtl.tensix.engine.command import (
    MAX_ROWS_PER_WORD_LOG2,
    ROWS_PER_WORD_LOG2,
    TILE_ROW_BITS,
    TILE_ROWS,
    WORD_BITS,
    WORD_BYTES,
    has_exponents,
    rows_per_word_log2,
    store_layout,
)
from bitpath.rtl.tensix.engine.config import PACK_ROWS, TensixEngineConfig
from bitpath.rtl.tensix.engine.tile_sequencer import tile_mask
from bitpath.rtl.tensix.matrix.dst_register import DstAddress, dst_rows_layout
from bitpath.rtl.tensix.pack.l1_round import ACCUMULATING_FORMATS
from bitpath.rtl.tensix.pack.layouts import PackControl
from bitpath.rtl.tensix.pack.packer import Packer
from bitpath.rtl.tensix.unpack.layouts import EXPONENT_BITS

STORES = 16
"""Tiles that wait for the packer: no more than Dst has."""
SINGLE_LOGS = range(1 + max(ROWS_PER_WORD_LOG2[fmt] for fmt in ACCUMULATING_FORMATS))
"""Rows in one word of L1, as powers of two, of formats whose rows may come one a cycle."""


def result_write_layout(config: TensixEngineConfig) -> data.StructLayout:
    """Return the layout of a write to the result memory, with byte enables."""
    return data.StructLayout({"data": WORD_BITS, "bytes": WORD_BYTES, "address": ceil_log2(config.result_depth)})


def rows_layout(config: TensixEngineConfig) -> data.StructLayout:
    """Return the layout of what the storer knows of rows on their way: ``pair`` is two rows, from an even one."""
    return data.StructLayout(
        {
            "control": PackControl,
            "tile": ceil_log2(config.result_depth),
            "row": TILE_ROW_BITS,
            "pair": 1,
            "last": 1,
            "valid": 1,
        }
    )


class TileStorer(wiring.Component):
    """Reads the rows of Dst tiles, packs them and writes them; block formats write their 64 exponents as one more word.

    A tile takes one cycle to begin, then two rows a cycle, or one row a cycle if its datums have 32 bits or accumulate in L1. Rows
    of consecutive tiles follow each other through the packer, which never stalls; the exponents are written in the cycle between
    two tiles. A tile that accumulates begins when all earlier rows are written.

    Parameters
    ----------
    config : configuration of the engine.

    Members
    -------
    store : In(stream of store_layout), tiles to be stored in order
    read_dst : Out(stream of DstAddress), dst : In(stream of dst_rows_layout)
    old_address : Out, old : In(512), the word of the result memory, one cycle later
    write : Out(result_write_layout)
    packing : Out(16), the 16-bit tiles of Dst that wait for the packer or are being read
    busy : Out(1), a tile waits or is not all written
    """

    def __init__(self, config: TensixEngineConfig):
        self.config = config
        super().__init__(
            {
                "store": In(stream.Signature(store_layout(config))),
                "read_dst": Out(stream.Signature(DstAddress)),
                "dst": In(stream.Signature(dst_rows_layout(PACK_ROWS))),
                "old_address": Out(ceil_log2(config.result_depth)),
                "old": In(WORD_BITS),
                "write": Out(result_write_layout(config)),
                "packing": Out(16),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        layout = store_layout(self.config)
        m.submodules.packer = packer = Packer(self.config.pack_conversion)
        m.submodules.stores = stores = SyncFIFO(width=layout.size, depth=STORES)
        following, held = Signal(layout), Signal(layout, reset_less=True)
        reading = Signal()
        asked = Signal(TILE_ROW_BITS)
        present = Signal(rows_layout(self.config))
        # Rows on their way: requested, read, and in the stages of the packer.
        ages = [Signal(rows_layout(self.config), name=f"rows_{age}") for age in range(1, Packer.LATENCY + 3)]
        writes_exponents = Signal()
        empty = ~Cat(each.valid for each in ages).any() & ~writes_exponents
        takes = Signal()
        after = Signal(TILE_ROW_BITS + 1)
        m.d.comb += [
            stores.w_data.eq(self.store.p),
            stores.w_en.eq(self.store.valid),
            self.store.ready.eq(stores.w_rdy),
            following.eq(stores.r_data),
            takes.eq(~reading & stores.r_rdy & (empty | ~following.control.accumulate)),
            stores.r_en.eq(takes),
            self.busy.eq(reading | stores.r_rdy | ~empty),
            present.control.eq(held.control),
            present.tile.eq(held.address),
            present.row.eq(asked),
            present.pair.eq(rows_per_word_log2(held.control.out_format).any() & ~held.control.accumulate),
            after.eq(asked + Mux(present.pair, PACK_ROWS, 1)),
            present.last.eq(after == TILE_ROWS),
            present.valid.eq(self.read_dst.valid & self.read_dst.ready),
            self.read_dst.valid.eq(reading),
            self.read_dst.p.row.eq(Cat(asked, held.dst_tile)),
            self.read_dst.p.dst32.eq(held.control.dst32),
            self.read_dst.p.fp16.eq(held.fp16),
            self.dst.ready.eq(1),
        ]
        begun = Mux(
            self.store.valid & self.store.ready, tile_mask(self.store.p.dst_tile, self.store.p.control.dst32), 0
        )
        ended = Mux(present.valid & present.last, tile_mask(held.dst_tile, held.control.dst32), 0)
        m.d.sync += self.packing.eq(self.packing & ~ended | begun)
        with m.If(takes):
            m.d.sync += [reading.eq(1), held.eq(following)]
        with m.If(present.valid):
            m.d.sync += [asked.eq(after), reading.eq(~present.last)]
        m.d.sync += [older.eq(younger) for younger, older in zip([present, *ages], ages, strict=False)]

        self._pack(m, packer, ages[0], ages[1])
        self._write(m, packer, ages[-1], writes_exponents)
        return m

    def _pack(self, m: Module, packer: Packer, answered: data.View, waiting: data.View) -> None:
        """Hand rows from Dst to the packer one cycle later, with the word of the result memory onto which one accumulates."""
        rows = Signal(dst_rows_layout(PACK_ROWS), reset_less=True)
        # A single row of Dst comes with its neighbour.
        single = Mux(answered.row[0], self.dst.p[1].as_value(), self.dst.p[0].as_value())
        m.d.comb += self.old_address.eq(self._place(answered))
        m.d.sync += [
            rows[0].eq(Mux(answered.pair, self.dst.p[0].as_value(), single)),
            rows[1].eq(self.dst.p[1]),
        ]
        # A separate signal: Verilog's `always @*` would never assign the constant field beside it.
        old = Signal(WORD_BITS)
        log = rows_per_word_log2(waiting.control.out_format)
        for log2 in SINGLE_LOGS:
            with m.If(log == log2):
                m.d.comb += old.eq(self.old.word_select(waiting.row[:log2], WORD_BITS >> log2))
        m.d.comb += [packer.i.valid.eq(waiting.valid), packer.o.ready.eq(1)]
        for row, request in zip(rows, packer.i.p, strict=True):
            m.d.comb += [
                request.row.eq(row),
                request.old.eq(old),
                request.control.eq(waiting.control),
                request.masked.eq(0),  # no edge mask: tiles are stored whole
            ]

    def _write(self, m: Module, packer: Packer, packed: data.View, writes_exponents: Signal) -> None:
        """Write packed rows, and in the cycle behind the last ones of a block format the exponents."""
        exponents = Signal(WORD_BITS, reset_less=True)
        tile = Signal.like(packed.tile, reset_less=True)
        first, second = packer.o.p
        log = rows_per_word_log2(packed.control.out_format)
        m.d.comb += self.write.address.eq(self._place(packed))
        for log2 in range(MAX_ROWS_PER_WORD_LOG2 + 1):
            bits, row_bytes = WORD_BITS >> log2, WORD_BYTES >> log2
            with m.If(log == log2):
                if log2 in SINGLE_LOGS:
                    m.d.comb += self.write.data.eq(first.datums[:bits].replicate(1 << log2))
                    with m.If(packed.valid & ~packed.pair):
                        m.d.comb += self.write.bytes.word_select(packed.row[:log2], row_bytes).eq(~0)
                if log2:
                    with m.If(packed.pair):
                        pair = Cat(first.datums[:bits], second.datums[:bits])
                        m.d.comb += self.write.data.eq(pair.replicate(1 << log2 - 1))
                        with m.If(packed.valid):
                            m.d.comb += self.write.bytes.word_select(packed.row[1:log2], 2 * row_bytes).eq(~0)
        with m.If(packed.valid):
            pair = Cat(first.exponent, second.exponent)
            m.d.sync += exponents.word_select(packed.row[1:], PACK_ROWS * EXPONENT_BITS).eq(pair)
        m.d.sync += [
            writes_exponents.eq(packed.valid & packed.last & has_exponents(packed.control.out_format)),
            tile.eq(packed.tile),
        ]
        with m.If(writes_exponents):
            m.d.comb += [
                self.write.address.eq(tile),
                self.write.data.eq(exponents),
                self.write.bytes.eq(Const(-1, WORD_BYTES)),
            ]

    def _place(self, rows: data.View) -> data.View:
        """Return the word of the result memory that holds rows."""
        log = rows_per_word_log2(rows.control.out_format)
        return rows.tile + has_exponents(rows.control.out_format) + (rows.row >> log)
