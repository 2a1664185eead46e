"""Unpacker of a core: rows of an UNPACR from L1 to SrcA or SrcB::

      cycle      0          1          2 .. n + 1     n + 2      n + 3      n + 4
      UNPACR     address    address    n words        last word  last rows  bank readable
                                                      unpacked   written

Ref: tt-isa-documentation 3930471, UNPACR_Regular.
"""

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS
from bitpath.rtl.tensix.core.config import UNPACK_ROWS, TensixCoreConfig
from bitpath.rtl.tensix.core.l1_memory import LINES, line_address_bits
from bitpath.rtl.tensix.engine.command import rows_a_cycle_log2
from bitpath.rtl.tensix.engine.l1_port import NEED_BITS, LoadPort
from bitpath.rtl.tensix.matrix.instruction import SRC_ROW_BITS
from bitpath.rtl.tensix.matrix.src_register import src_write_layout
from bitpath.rtl.tensix.unpack.layouts import ROW_BITS, UnpackControl
from bitpath.rtl.tensix.unpack.unpacker import Unpacker

COUNT_BITS = SRC_ROW_BITS + 1
"""Bits of a number of rows, 1 to 64."""
MOST_ROWS_LOG2 = UNPACK_ROWS.bit_length() - 1


def rows_layout(config: TensixCoreConfig) -> data.StructLayout:
    """Return the layout of an UNPACR: rows of 16 datums from an address in units of 16 bytes, and where they go.

    ``flips`` hands the bank over with the last row.
    """
    address = line_address_bits(config.l1_words)
    return data.StructLayout(
        {"address": address, "rows": COUNT_BITS, "row": SRC_ROW_BITS, "flips": 1, "control": UnpackControl}
    )


class State(enum.Enum, shape=2):
    """State of the present UNPACR."""

    WAITS = 0  # for an UNPACR, or for another one's address cycles
    ADDRESSES = 1  # second address cycle
    READS = 2


class RowUnpacker(wiring.Component):
    """Takes an UNPACR in its first address cycle, then one word of 64 bytes in each cycle in which the port grants it.

    A word gives 1, 2 or 4 rows of datums of 32, 16 or 8 bits; fewer if the rows that are left, or the alignment of the first
    one, do not allow it. The bank must belong to the unpacker, so that a write never stalls. Rows wrap at 64.

    Parameters
    ----------
    config : configuration of the core.

    Members
    -------
    i : In(stream of rows_layout), number : In(6), position of the UNPACR among all
    port : Out(LoadPort)
    address : Out, word : In(512), the word of L1, a cycle later
    o : Out(stream of src_write_layout), which must be ready
    idle : Out(1), no row is on its way to the bank
    """

    def __init__(self, config: TensixCoreConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(rows_layout(config))),
                "number": In(NEED_BITS),
                "port": Out(LoadPort),
                "address": Out(line_address_bits(config.l1_words)),
                "word": In(ROW_BITS),
                "o": Out(stream.Signature(src_write_layout(BLOCK_ROWS))),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        port = self.port
        m.submodules.unpacker = unpacker = Unpacker(self.config.unpack_conversion)
        state = Signal(State)
        present = Signal(self.i.p.shape(), reset_less=True)
        need = Signal(NEED_BITS, reset_less=True)
        at_once = Signal(range(MOST_ROWS_LOG2 + 1))
        fetched = Signal(data.StructLayout({"row": SRC_ROW_BITS, "at_once": at_once.shape(), "last": 1}))
        held, written = (Signal(fetched.shape(), name=name, reset_less=True) for name in ("held", "written"))
        held_control = Signal(UnpackControl, reset_less=True)
        held_valid = Signal()
        waits = state == State.WAITS
        m.d.comb += [
            port.need.eq(Mux(waits, self.number, need)),
            port.waits.eq(waits & self.i.valid),
            port.addresses.eq(state == State.ADDRESSES),
            port.asks.eq(state == State.READS),
            self.i.ready.eq(waits & port.begins),
            at_once.eq(_rows_at_once(present)),
            self.address.eq(present.address),
            fetched.row.eq(present.row),
            fetched.at_once.eq(at_once),
            fetched.last.eq(present.rows == 1 << at_once),
        ]
        with m.Switch(state):
            with m.Case(State.WAITS):
                with m.If(port.begins):
                    m.d.sync += [state.eq(State.ADDRESSES), present.eq(self.i.p), need.eq(self.number)]
            with m.Case(State.ADDRESSES):
                m.d.sync += state.eq(State.READS)
            with m.Case(State.READS):
                with m.If(port.granted):
                    lines = _row_lines(present.control.l1_format) << at_once
                    m.d.sync += [
                        present.address.eq(present.address + lines),
                        present.row.eq(present.row + (1 << at_once)),
                        present.rows.eq(present.rows - (1 << at_once)),
                    ]
                    with m.If(fetched.last):
                        m.d.sync += state.eq(State.WAITS)
        m.d.sync += [
            held_valid.eq(port.granted),
            held.eq(fetched),
            held.last.eq(fetched.last & present.flips),
            held_control.eq(present.control),
            written.eq(held),
        ]
        m.d.comb += [
            unpacker.i.valid.eq(held_valid),
            unpacker.i.p.control.eq(held_control),
            unpacker.i.p.datums.eq(self.word),
            unpacker.o.ready.eq(1),
            self.o.valid.eq(unpacker.o.valid),
            self.o.p.row.eq(written.row),
            self.o.p.count.eq(written.at_once),
            self.o.p.last.eq(written.last),
            self.idle.eq(waits & ~held_valid & ~unpacker.o.valid),
        ]
        for log in range(MOST_ROWS_LOG2 + 1):
            with m.If(written.at_once == log):
                for lane, row in enumerate(self.o.p.values):
                    words = zip(row, unpacker.o.p[lane % (1 << log)], strict=True)
                    m.d.comb += [word.eq(unpacked) for word, unpacked in words]
        return m


def _row_lines(code: Value) -> Value:
    """Return how many 16 bytes a row has: 4, 2 or 1."""
    return Value.cast(LINES) >> rows_a_cycle_log2(code)[:2]


def _rows_at_once(present: data.View) -> Value:
    """Return the rows of the next word, as a power of two: those of its format, aligned, and not more than are left."""
    most = rows_a_cycle_log2(present.control.l1_format)
    two = (most >= 1) & ~present.row[0] & (present.rows >= 2)
    four = (most >= 2) & (present.row[:2] == 0) & (present.rows >= 4)
    return Mux(four, 2, two)
