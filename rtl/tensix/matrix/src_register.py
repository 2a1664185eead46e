"""SrcA or SrcB: two banks of 64 rows, which an unpacker fills and the Matrix unit reads, alternately.

Ref: tt-isa-documentation 3930471, SrcASrcB.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, SRC, SRC_ROWS
from bitpath.rtl.tensix.dot.layouts import SrcRow
from bitpath.rtl.tensix.matrix.instruction import SRC_ROW_BITS
from bitpath.rtl.tensix.matrix.words import from_physical, to_physical

BANKS = 2


def src_write_layout(rows: int = 1) -> data.StructLayout:
    """Return the layout of ``2**count`` consecutive rows of logical words; the ``last`` write hands the bank to the Matrix unit.

    ``row`` is the first one, a multiple of their number; row r has its words in ``values[r % rows]``. One row has no ``count``.
    """
    fields = {"values": data.ArrayLayout(SrcRow, rows), "row": SRC_ROW_BITS, "last": 1}
    return data.StructLayout(fields | ({"count": range(rows.bit_length())} if rows > 1 else {}))


class SrcPointers(data.Struct):
    """The bank that the unpacker writes next, and the one that the Matrix unit reads."""

    written: range(BANKS)
    read: range(BANKS)


FILL = data.StructLayout(
    {
        "values": data.ArrayLayout(SrcRow, BLOCK_ROWS),
        "rows": BLOCK_ROWS,
        "block": SRC_ROW_BITS - 3,
        "bank": range(BANKS),
    }
)
"""Words for the rows of an 8-row block whose bits are set, in either bank, whoever owns it."""


class SrcRegister(wiring.Component):
    """Two banks of 64 rows of 16 words of 19 bits, stored in the bit order of the register.

    Each bank belongs to the unpacker or to the Matrix unit. The unpacker fills the banks in turn, and stalls until the next one
    is its own. The Matrix unit reads one bank, and goes on to the other one when it flips; it may hold both.
    Writes: up to ``rows`` rows a cycle. Reads: 16 rows, or 8, in the cycle of ``block`` (latency 0).

    Parameters
    ----------
    blocks : 8-row blocks that are read together, 1 (SrcB) or 2 (SrcA).
    rows : rows that one write has at most, a power of two up to 8.
    any_block : True if two blocks may start at an odd one; block 7 is then followed by block 0.
    moves : True adds ``fill``, ``handed``, ``reset`` and ``pointers``, for instructions that write or hand over a bank; needs 8
        ``rows``.

    Members
    -------
    write : In(stream of src_write_layout), not ready while the bank belongs to the Matrix unit
    free : Out(2), the banks that belong to the unpacker
    readable : Out(1), the bank belongs to the Matrix unit
    block : In(3), the first 8-row block read
    o : Out(8 or 16 rows), logical words
    released : In(1), hand the bank to the unpacker; flipped : In(1), go on to the other bank
    fill : In(stream of FILL), not ready in a cycle in which the unpacker writes
    handed : In(1), hand the unpacker's bank to the Matrix unit; reset : In(1), hand both to the unpacker, and go on with bank 0.
        Both only in cycles without a write
    pointers : Out(SrcPointers)
    """

    def __init__(self, blocks: int, rows: int = 1, *, any_block: bool = False, moves: bool = False):
        self.blocks, self.rows, self.any_block, self.moves = blocks, rows, any_block, moves
        own = {"fill": In(stream.Signature(FILL)), "handed": In(1), "reset": In(1), "pointers": Out(SrcPointers)}
        super().__init__(
            (own if moves else {})
            | {
                "write": In(stream.Signature(src_write_layout(rows))),
                "free": Out(BANKS),
                "readable": Out(1),
                "block": In(range(SRC_ROWS // BLOCK_ROWS)),
                "o": Out(blocks * BLOCK_ROWS * SrcRow.size),
                "released": In(1),
                "flipped": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        matrix_unit_owns = Signal(BANKS)
        write_bank = Signal()
        read_bank = Signal()
        p = self.write.p
        stored = Signal()
        m.d.comb += [
            self.write.ready.eq(~matrix_unit_owns.bit_select(write_bank, 1)),
            stored.eq(self.write.valid & self.write.ready),
            self.readable.eq(matrix_unit_owns.bit_select(read_bank, 1)),
            self.free.eq(~matrix_unit_owns),
        ]
        with m.If(stored & p.last):
            m.d.sync += [matrix_unit_owns.bit_select(write_bank, 1).eq(1), write_bank.eq(~write_bank)]
        with m.If(self.released):
            m.d.sync += matrix_unit_owns.bit_select(read_bank, 1).eq(0)
        with m.If(self.flipped):
            m.d.sync += read_bank.eq(~read_bank)
        if self.moves:
            m.d.comb += [
                self.fill.ready.eq(~stored),
                self.pointers.written.eq(write_bank),
                self.pointers.read.eq(read_bank),
            ]
            with m.If(self.handed):
                m.d.sync += [matrix_unit_owns.bit_select(write_bank, 1).eq(1), write_bank.eq(~write_bank)]
            with m.If(self.reset):
                m.d.sync += [matrix_unit_owns.eq(0), write_bank.eq(0), read_bank.eq(0)]

        rows = [Signal(SRC.width * COLUMNS, name=f"row_{lane}") for lane in range(self.rows)]
        m.d.comb += [row.eq(Cat(to_physical(SRC, word) for word in p.values[lane])) for lane, row in enumerate(rows)]
        lanes = Signal(BLOCK_ROWS)
        count = p.count if self.rows > 1 else Const(0)
        m.d.comb += [lanes[lane].eq((p.row[:3] >> count) == (Const(lane, 3) >> count)) for lane in range(BLOCK_ROWS)]
        enable = Mux(stored, lanes, 0)
        place = Cat(p.row[3:], write_bank)
        if self.moves:
            filled = self.fill.p
            values = [Cat(to_physical(SRC, word) for word in row) for row in filled.values]
            rows = [Mux(stored, row, value) for row, value in zip(rows, values, strict=True)]
            enable = Mux(stored, lanes, Mux(self.fill.valid, filled.rows, 0))
            place = Mux(stored, place, Cat(filled.block, filled.bank))
        cells = [self._cells(m, index, rows, enable, place, read_bank) for index in range(self.blocks)]
        if self.any_block:
            # Odd blocks are in the second memory: swap if the first block read is odd.
            swapped = self.block[0]
            cells = [Mux(swapped, cells[1], cells[0]), Mux(swapped, cells[0], cells[1])]
        # One signal, so that the multiplexer is emitted once and not for each word.
        physical = Signal(self.blocks * BLOCK_ROWS * COLUMNS * SRC.width)
        m.d.comb += physical.eq(Cat(cells))
        words = (physical.word_select(index, SRC.width) for index in range(self.blocks * BLOCK_ROWS * COLUMNS))
        m.d.comb += self.o.eq(Cat(from_physical(SRC, word) for word in words))
        return m

    def _cells(self, m: Module, index: int, rows, enable, place, read_bank):
        """Add the memory of every ``blocks``-th block from ``index`` on; return the block read."""
        blocks = BANKS * SRC_ROWS // BLOCK_ROWS // self.blocks
        layout = data.ArrayLayout(SRC.width * COLUMNS, BLOCK_ROWS)
        m.submodules[f"cells_{index}"] = cells = memory.Memory(shape=layout, depth=blocks, init=[])
        write = cells.write_port(granularity=1)
        read = cells.read_port(domain="comb")
        skipped = self.blocks.bit_length() - 1  # block address bits that choose the memory
        here = place[:skipped] == index if skipped else 1
        read_block = self.block[skipped:]
        if self.any_block and index == 0:
            read_block = (read_block + self.block[0])[: len(read_block)]
        m.d.comb += [
            write.addr.eq(place[skipped:]),
            *(each.eq(rows[lane % self.rows]) for lane, each in enumerate(write.data)),
            write.en.eq(Mux(here, enable, 0)),
            read.addr.eq(Cat(read_block, read_bank)),
        ]
        return read.data.as_value()
