"""Unpacker of a core: rows of an UNPACR from L1 to SrcA, SrcB or Dst::

      cycle      0          1          2 .. n + 1     n + 2      n + 3      n + 4
      UNPACR     address    address    n words        last word  last rows  bank readable
                                                      unpacked   written

A transposed UNPACR writes its first row 16 cycles later.

Ref: tt-isa-documentation 3930471, UNPACR_Regular.
"""

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, FACE, SRC, Format
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.core.config import UNPACK_ROWS, AddressConfig, TensixCoreConfig
from bitpath.rtl.tensix.core.dst_rows import RowOrder, ordered
from bitpath.rtl.tensix.core.l1_memory import line_address_bits
from bitpath.rtl.tensix.engine.command import rows_a_cycle_log2
from bitpath.rtl.tensix.engine.tensix_engine import NEED_BITS, LoadPort
from bitpath.rtl.tensix.matrix.instruction import DST_ROW_BITS, SRC_ROW_BITS
from bitpath.rtl.tensix.matrix.matrix_unit import DstWrite
from bitpath.rtl.tensix.matrix.registers import src_write_layout
from bitpath.rtl.tensix.matrix.source_to_dst import SHORT_FORMATS
from bitpath.rtl.tensix.unpack.float_word import DATUM_BITS
from bitpath.rtl.tensix.unpack.layouts import EXPONENT_BITS, ROW_BITS, TurnBufferConfig, UnpackControl
from bitpath.rtl.tensix.unpack.tilise_address import STRIDE_BITS, TiliseAddress
from bitpath.rtl.tensix.unpack.turn_buffer import TurnBuffer
from bitpath.rtl.tensix.unpack.unpacker import Unpacker

COUNT_BITS = SRC_ROW_BITS + 1
"""Bits of a number of rows, 1 to 64."""
MOST_ROWS_LOG2 = UNPACK_ROWS.bit_length() - 1
DST32_FORMATS = (Format.FP32, Format.TF32, Format.INT32)
"""Output formats of 32 bits in Dst; addresses count four bytes a datum."""
WORD_BITS = 32
"""Bits that an address of rows counts: a row of the narrowest datums, of 2 bits."""
LINE_WORDS_LOG2, LINE_BYTES_LOG2 = 2, 4
"""Such words, and bytes, of the 16 bytes that an address of L1 counts."""


def rows_layout(config: AddressConfig) -> data.StructLayout:
    """Return the layout of an UNPACR: rows of 16 datums, and where they go.

    - ``address`` : of the first datum, in units of 4 bytes; ``exponent`` : of its block's exponent, in bytes.
    - ``stride`` : between rows of datums in units of 16 bytes, with ``tilises``; else the columns that rows of SrcA lose on the left,
      0 to 15, so that the last ones stay as they are.
    - ``row`` : the first row of SrcA, SrcB or, with ``control.to_dst``, Dst.
    - ``flips`` hands the bank over with the last row; ``zero`` makes all datums 0; ``turns`` transposes each 16 rows.
    - ``order`` : Dst's rows are permuted.
    - ``forced`` : ``forced_exponent`` stands for all exponents of block floats.
    """
    line = line_address_bits(config.l1_words)
    return data.StructLayout(
        {
            "address": line + LINE_WORDS_LOG2,
            "exponent": line + LINE_BYTES_LOG2,
            "stride": STRIDE_BITS,
            "rows": COUNT_BITS,
            "row": DST_ROW_BITS,
            "flips": 1,
            "zero": 1,
            "turns": 1,
            "tilises": 1,
            "order": RowOrder,
            "forced": 1,
            "forced_exponent": EXPONENT_BITS,
            "control": UnpackControl,
        }
    )


def row_words_log2(code: Value) -> Value:
    """Return the units of 4 bytes that a row of 16 datums has in L1, as a power of two."""
    found = Value.cast(0)
    for bits in sorted(set(DATUM_BITS.values())):
        formats = [fmt for fmt, width in DATUM_BITS.items() if width == bits]
        found = Mux(code.matches(*formats), (bits // 2).bit_length() - 1, found)
    return found


class State(enum.Enum, shape=2):
    """State of the present UNPACR."""

    WAITS = 0  # for an UNPACR, or for another one's address cycles
    ADDRESSES = 1  # second address cycle
    READS = 2


class Fetched(data.Struct):
    """Rows that a word of L1 holds, and where they go; ``word`` and ``byte`` are their places in it and in the exponents'."""

    row: DST_ROW_BITS
    at_once: range(MOST_ROWS_LOG2 + 1)
    shift: range(COLUMNS)
    last: 1
    flips: 1
    zero: 1
    turns: 1
    order: RowOrder
    forced: 1
    forced_exponent: EXPONENT_BITS
    word: LINE_WORDS_LOG2
    byte: LINE_BYTES_LOG2
    control: UnpackControl


class RowUnpacker(wiring.Component):
    """Takes an UNPACR in its first address cycle, then one word of 64 bytes in each cycle in which the port grants it.

    A word gives 1, 2, 4 or 8 rows of datums of 32, 16, 8 or 4 bits, and 4 of 2 bits; fewer if the rows that are left, or the
    alignment of the first one, do not allow it. In tilise mode, transposed or to Dst it gives one row. The bank must belong to the unpacker and Dst be
    free, so that a write never stalls. Rows of sources wrap at 64.

    Parameters
    ----------
    config : configuration of the core.
    unpacker : 0 or 1; unpacker 1 neither tilises nor shifts nor transposes nor fills Dst.

    Members
    -------
    i : In(stream of rows_layout), number : In(6), position of the UNPACR among all
    port : Out(LoadPort)
    address, exponent_address : Out; word, exponents : In(512), the words of L1, a cycle later
    o : Out(stream of src_write_layout), which must be ready
    dst : Out(stream of DstWrite), which must be ready; handed : Out(1), hand the bank over after the last row of Dst. Unpacker 0's
    fills_dst : Out(1), a row is on its way to Dst
    idle : Out(1), no row is on its way
    """

    def __init__(self, config: TensixCoreConfig, unpacker: int):
        self.config, self.unpacker = config, unpacker
        line = line_address_bits(config.l1_words)
        of_dst = {"dst": Out(stream.Signature(DstWrite)), "handed": Out(1), "fills_dst": Out(1)}
        super().__init__(
            ({} if unpacker else of_dst)
            | {
                "i": In(stream.Signature(rows_layout(config))),
                "number": In(NEED_BITS),
                "port": Out(LoadPort),
                "address": Out(line),
                "exponent_address": Out(line),
                "word": In(ROW_BITS),
                "exponents": In(ROW_BITS),
                "o": Out(stream.Signature(src_write_layout(BLOCK_ROWS, keeps=not unpacker))),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        unpacker = instantiate(m, platform, "unpacker", Unpacker, self.config.unpack_conversion)
        state = Signal(State)
        present = Signal(self.i.p.shape(), reset_less=True)
        need = Signal(NEED_BITS, reset_less=True)
        fetched = Signal(Fetched)
        held, written = (Signal(Fetched, name=name, reset_less=True) for name in ("held", "written"))
        held_valid, turning = Signal(), Signal()
        waits = (state == State.WAITS) & ~turning
        port = self.port
        m.d.comb += [
            port.need.eq(Mux(waits, self.number, need)),
            port.waits.eq(waits & self.i.valid),
            port.addresses.eq(state == State.ADDRESSES),
            port.asks.eq(state == State.READS),
            self.i.ready.eq(waits & port.begins),
            self.address.eq(present.address[LINE_WORDS_LOG2:]),
            self.exponent_address.eq(present.exponent[LINE_BYTES_LOG2:]),
        ]
        self._fetch(m, present, fetched)
        with m.Switch(state):
            with m.Case(State.WAITS):
                with m.If(port.begins):
                    m.d.sync += [state.eq(State.ADDRESSES), present.eq(self.i.p), need.eq(self.number)]
            with m.Case(State.ADDRESSES):
                m.d.sync += state.eq(State.READS)
            with m.Case(State.READS):
                with m.If(port.granted & fetched.last):
                    m.d.sync += state.eq(State.WAITS)
        m.d.sync += [held_valid.eq(port.granted), held.eq(fetched), written.eq(held)]
        m.d.comb += [
            unpacker.i.valid.eq(held_valid),
            unpacker.i.p.control.eq(held.control),
            unpacker.i.p.datums.eq(self.word >> (held.word << WORD_BITS.bit_length() - 1)),
            unpacker.o.ready.eq(1),
            self.idle.eq(waits & ~held_valid & ~unpacker.o.valid),
        ]
        for row, exponent in enumerate(unpacker.i.p.exponents):
            of_row = self.exponents.word_select(held.byte + row, EXPONENT_BITS)
            m.d.comb += exponent.eq(Mux(held.forced, held.forced_exponent, of_row))
        # Signals, since an expression would be emitted once for each lane that takes a part of it.
        rows = [Signal(ROW_BITS, name=f"row_{place}") for place in range(UNPACK_ROWS)]
        m.d.comb += [row.eq(Mux(written.zero, 0, found)) for row, found in zip(rows, unpacker.o.p, strict=True)]
        shifted = rows
        if not self.unpacker:
            shifted = [_shifted(m, f"shifted_{place}", row, written.shift) for place, row in enumerate(rows)]
            m.d.comb += self.o.p.kept.eq(written.shift)
        self._write(m, unpacker.o.valid & ~(written.turns | written.control.to_dst), written, shifted)
        m.d.comb += self.o.p.last.eq(written.last & written.flips)
        if not self.unpacker:
            self._tilise(m, platform, present)
            self._turn(m, unpacker.o.valid & written.turns, rows[0], turning)
            self._fill_dst(m, unpacker.o.valid & written.control.to_dst, written, rows[0])
            reads = (state != State.WAITS) & present.control.to_dst
            m.d.comb += self.fills_dst.eq(reads | (held_valid & held.control.to_dst) | self.dst.valid)
        return m

    def _fetch(self, m: Module, present: data.View, fetched: data.View) -> None:
        """Describe the rows of the present word, and go on to the next one as it is granted."""
        at_once = Signal(range(MOST_ROWS_LOG2 + 1))
        code = present.control.l1_format
        alone = present.turns | present.tilises | present.control.to_dst
        m.d.comb += [
            at_once.eq(Mux(alone, 0, _rows_at_once(present))),
            *(
                fetched[name].eq(present[name])
                for name in ("row", "flips", "zero", "turns", "order", "forced", "control")
            ),
            fetched.forced_exponent.eq(present.forced_exponent),
            fetched.at_once.eq(at_once),
            fetched.shift.eq(Mux(present.tilises, 0, present.stride)),
            fetched.last.eq(present.rows == 1 << at_once),
            fetched.word.eq(present.address),
            fetched.byte.eq(present.exponent),
        ]
        with m.If(self.port.granted):
            m.d.sync += [
                present.address.eq(present.address + (1 << (row_words_log2(code) + at_once))),
                present.exponent.eq(present.exponent + (1 << at_once)),
                present.row.eq(present.row + (1 << at_once)),
                present.rows.eq(present.rows - (1 << at_once)),
            ]

    def _write(self, m: Module, valid: Value, written: data.View, rows: list[Value]) -> None:
        """Write rows to the bank, each to all lanes that it may go to."""
        m.d.comb += [
            self.o.valid.eq(valid),
            self.o.p.row.eq(written.row),
            self.o.p.count.eq(written.at_once),
        ]
        for log in range(MOST_ROWS_LOG2 + 1):
            with m.If(written.at_once == log):
                for lane, row in enumerate(self.o.p.values):
                    unpacked = rows[lane % (1 << log)]
                    width = len(unpacked) // len(row)
                    m.d.comb += [word.eq(unpacked.word_select(k, width)) for k, word in enumerate(row)]

    def _tilise(self, m: Module, platform: Any, present: data.View) -> None:
        """Add the addresses of tilise mode."""
        tilise = instantiate(m, platform, "tilise", TiliseAddress, self.config.unpack_conversion)
        first = self.i.p
        m.d.comb += [
            tilise.i.valid.eq(self.port.begins & first.tilises),
            tilise.i.p.address.eq(first.address[LINE_WORDS_LOG2:]),
            tilise.i.p.stride.eq(first.stride),
            tilise.i.p.last.eq(first.rows - 1),
            tilise.i.p.l1_format.eq(first.control.l1_format),
            tilise.o.ready.eq(self.port.granted),
        ]
        with m.If(present.tilises):
            m.d.comb += self.address.eq(tilise.o.p.address)

    def _turn(self, m: Module, valid: Value, row: Value, turning: Signal) -> None:
        """Add the transposition; its rows are the only ones while ``turning``."""
        m.submodules.turn = turn = TurnBuffer(TurnBufferConfig())
        place, left, flips = Signal(SRC_ROW_BITS), Signal(COUNT_BITS), Signal()
        shift = Signal(range(COLUMNS))
        m.d.comb += [
            turning.eq(left.any()),
            turn.i.valid.eq(valid),
            turn.i.p.turn.eq(1),
            *(
                word.eq(row.word_select(k, len(row) // len(turn.i.p.rows[0]))[: SRC.width])
                for k, word in enumerate(turn.i.p.rows[0])
            ),
            turn.o.ready.eq(1),
        ]
        with m.If(self.port.begins & self.i.p.turns):
            m.d.sync += [
                place.eq(self.i.p.row),
                left.eq(self.i.p.rows),
                flips.eq(self.i.p.flips),
                shift.eq(Mux(self.i.p.tilises, 0, self.i.p.stride)),
            ]
        with m.If(turn.o.valid):
            m.d.sync += [place.eq(place + 1), left.eq(left - 1)]
            m.d.comb += [
                # Rows are columns of datums: those that the shift loses do not come, and the last ones stay.
                self.o.valid.eq(place[: (FACE - 1).bit_length()] >= shift),
                self.o.p.row.eq(place - shift),
                self.o.p.count.eq(0),
                self.o.p.kept.eq(0),
                self.o.p.last.eq((left == 1) & flips),
                *(lane.eq(turn.o.p[0]) for lane in self.o.p.values),
            ]

    def _fill_dst(self, m: Module, valid: Value, written: data.View, row: Value) -> None:
        control = written.control
        m.d.comb += [
            self.dst.valid.eq(valid),
            self.dst.p.values.eq(row),
            self.dst.p.address.row.eq(ordered(written.row, written.order, self.dst.p.address.dst32)),
            self.dst.p.address.dst32.eq(control.register_format.matches(*DST32_FORMATS)),
            self.dst.p.address.fp16.eq(control.register_format.matches(*SHORT_FORMATS)),
            self.handed.eq(valid & written.last & written.flips),
        ]


def _shifted(m: Module, name: str, row: Value, columns: Value) -> Value:
    """Return a row of words of SrcA that has lost columns on the left."""
    words = Cat(row.word_select(k, ROW_BITS // COLUMNS)[: SRC.width] for k in range(COLUMNS))
    for log in range(len(columns)):
        moved = Signal(len(words), name=f"{name}_{1 << log}")
        m.d.comb += moved.eq(Mux(columns[log], words >> (SRC.width << log), words))
        words = moved
    return words


def _rows_at_once(present: data.View) -> Value:
    """Return the rows of the next word, as a power of two: those of its format, aligned, and not more than are left."""
    most, found = rows_a_cycle_log2(present.control.l1_format), Value.cast(0)
    for log in range(1, MOST_ROWS_LOG2 + 1):
        fits = (most >= log) & ~present.row[:log].any() & (present.rows >= 1 << log)
        if log == MOST_ROWS_LOG2:
            # Such rows fill all 64 bytes, which begin at a multiple of 16 bytes.
            fits &= ~present.address[:LINE_WORDS_LOG2].any()
        found = Mux(fits, log, found)
    return found
