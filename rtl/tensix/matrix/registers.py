"""SrcA or SrcB: two banks of 64 rows, which an unpacker fills and the Matrix unit reads, alternately.

Ref: tt-isa-documentation 3930471, SrcASrcB.
"""

from itertools import groupby

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.hdl import ValueLike
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import (
    BLOCK_ROWS,
    COLUMNS,
    DST16_BF16,
    DST16_FP16,
    DST32,
    DST32_ROWS,
    SRC,
    SRC_ROWS,
    Segment,
    WordLayout,
)
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.dot.layouts import DstRow, SrcRow
from bitpath.rtl.tensix.matrix.instruction import DST_ROW_BITS, SRC_ROW_BITS, Zeroed

# Bit orders of the SrcA, SrcB and Dst registers, as wiring.
#
# Ref: tt-isa-documentation 3930471, SrcASrcB and Dst.


def to_physical(layout: WordLayout, word: ValueLike) -> Value:
    """Return a logical word in the bit order of the register."""
    return _reorder(word, layout.logical, layout.physical)


def from_physical(layout: WordLayout, word: ValueLike) -> Value:
    """Return the logical word of a word in the bit order of the register."""
    return _reorder(word, layout.physical, layout.logical)


def _bits(segments: tuple[Segment, ...]) -> list[tuple[str, int]]:
    """Return field and bit at each position of a word, from bit 0 up."""
    return [(each.name, bit) for each in reversed(segments) for bit in range(each.low, each.high + 1)]


def _reorder(word: ValueLike, source: tuple[Segment, ...], target: tuple[Segment, ...]) -> Value:
    word = Value.cast(word)
    position = {bit: index for index, bit in enumerate(_bits(source))}
    positions = [position[bit] for bit in _bits(target)]
    # Runs of adjacent bits become slices in Verilog, not single bits.
    runs = [list(run) for _, run in groupby(enumerate(positions), key=lambda pair: pair[1] - pair[0])]
    return Cat(word[run[0][1] : run[-1][1] + 1] for run in runs)


# Dst: 1024 rows of 16 words of 16 bits, or 512 rows of 16 words of 32 bits, in the same storage::
#
#       16-bit block 2 n     -> pair n of the high memory      32-bit block n -> high 16 bits: pair n of the high memory
#       16-bit block 2 n + 1 -> pair n of the low memory                         low 16 bits:  pair n of the low memory
#
# A 32-bit row from 512 on is the row of the storage with bit 8 set and bit 9 clear.
#
# Ref: tt-isa-documentation 3930471, Dst and ZEROACC.


HALF = 16
"""Bits of a 16-bit Dst word; a 32-bit word takes one such word in each of two rows."""
PAIRS = DST32_ROWS // BLOCK_ROWS
"""Pairs of 8-row blocks: a pair is two 16-bit blocks or one 32-bit block."""
PAIR_BITS = (PAIRS - 1).bit_length()

ROW_WIDTH = HALF * COLUMNS
"""Bits of a row of 16-bit words."""

BLOCK_WIDTH = BLOCK_ROWS * DstRow.size
"""Bits of eight rows of logical 32-bit words."""


class DstAddress(data.Struct):
    """Address of a row of 16-bit or 32-bit words, as ``dst32`` selects; ``fp16`` selects the bit order of 16-bit words."""

    row: DST_ROW_BITS
    dst32: 1
    fp16: 1


def dst_rows_layout(rows: int) -> type[DstRow] | data.ArrayLayout:
    """Return the layout of the rows of Dst that one read returns."""
    return DstRow if rows == 1 else data.ArrayLayout(DstRow, rows)


def pair_of(address) -> Signal:
    """Return the pair of blocks that holds a row: all of it for 32-bit rows, one half for 16-bit rows."""
    block = address.row[3:]
    wide = Cat(block[: PAIR_BITS - 1], block[PAIR_BITS - 1] | block[PAIR_BITS])
    return Mux(address.dst32, wide, block[1:])[:PAIR_BITS]


class DstRowToHalves(wiring.Component):
    """A row of logical words as the high and the low memory store it; 16-bit words go to both.
    It is combinational, with latency 0.

    Members
    -------
    i : In(DstRow), dst32 : In(1), fp16 : In(1)
    high, low : Out(256)
    """

    clocked = False
    i: In(DstRow)
    dst32: In(1)
    fp16: In(1)
    high: Out(ROW_WIDTH)
    low: Out(ROW_WIDTH)

    def elaborate(self, platform):
        m = Module()
        # Multiplex whole rows: simulators evaluate one wide multiplexer faster than 272 narrow ones.
        wide = [to_physical(DST32, word) for word in self.i]
        fp16, bf16 = (Cat(to_physical(layout, word[:HALF]) for word in self.i) for layout in (DST16_FP16, DST16_BF16))
        narrow = Signal(ROW_WIDTH)
        m.d.comb += [
            narrow.eq(Mux(self.fp16, fp16, bf16)),
            self.high.eq(Mux(self.dst32, Cat(word[HALF:] for word in wide), narrow)),
            self.low.eq(Mux(self.dst32, Cat(word[:HALF] for word in wide), narrow)),
        ]
        return m


class DstRowFromHalves(wiring.Component):
    """A row of logical words from the high and the low memory; a 16-bit row from the addressed one.
    It is combinational, with latency 0.

    Members
    -------
    high, low : In(256)
    address : In(DstAddress)
    o : Out(DstRow)
    """

    clocked = False
    high: In(ROW_WIDTH)
    low: In(ROW_WIDTH)
    address: In(DstAddress)
    o: Out(DstRow)

    def elaborate(self, platform):
        m = Module()
        address = self.address
        named = Signal(ROW_WIDTH)
        m.d.comb += named.eq(Mux(address.row[3], self.low, self.high))
        columns = range(COLUMNS)
        wide = Cat(
            from_physical(DST32, Cat(self.low.word_select(k, HALF), self.high.word_select(k, HALF))) for k in columns
        )
        fp16, bf16 = (
            Cat(Cat(from_physical(layout, named.word_select(k, HALF)), Const(0, HALF)) for k in columns)
            for layout in (DST16_FP16, DST16_BF16)
        )
        m.d.comb += self.o.eq(Mux(address.dst32, wide, Mux(address.fp16, fp16, bf16)))
        return m


class DstRegister(wiring.Component):
    """The words of Dst in the bit order of the register, and a flag for each 16-bit row: a row without it reads as 0.

    A 32-bit row has the flag of its upper half's row, and a write of it sets this flag alone.
    Two read ports with latency 0; a write is readable in the next cycle. A reset clears all flags and leaves the words.

    Parameters
    ----------
    columns : columns that are written together, a power of two up to 16.
    read_rows : rows that the packer reads together, a power of two up to 8.

    Members
    -------
    address : In(DstAddress), o : Out(8 rows), the block that holds the row; for the Matrix unit
    undefined : Out(8), rows of this block without their flag; stale : In(1), they read as they were
    read_address : In(DstAddress), read_o : Out(dst_rows_layout), the rows from a multiple of their number; for the packer
    write_address : In(DstAddress), write_values : In(8 rows)
    write_rows : In(8), write_columns : In(16 / columns), enables of the block's rows and column groups
    zero : In(1), zeroed : In(Zeroed), the row, the 16 rows or the half that holds ``address``, or all rows become undefined; a single
        row must be of 16 bits, and nothing may be written in its cycle
    """

    def __init__(self, columns: int, read_rows: int = 1):
        self.columns, self.read_rows = columns, read_rows
        self.column_groups = COLUMNS // columns
        super().__init__(
            {
                "address": In(DstAddress),
                "o": Out(BLOCK_WIDTH),
                "undefined": Out(BLOCK_ROWS),
                "stale": In(1),
                "read_address": In(DstAddress),
                "read_o": Out(dst_rows_layout(read_rows)),
                "write_address": In(DstAddress),
                "write_values": In(BLOCK_WIDTH),
                "write_rows": In(BLOCK_ROWS),
                "write_columns": In(self.column_groups),
                "zero": In(1),
                "zeroed": In(Zeroed),
            }
        )

    def elaborate(self, platform):
        m = Module()
        pairs = {}
        for name, address in (
            ("matrix", self.address),
            ("outside", self.read_address),
            ("written", self.write_address),
        ):
            pairs[name] = Signal(range(PAIRS), name=f"{name}_pair")
            m.d.comb += pairs[name].eq(pair_of(address))
        rows = [instantiate(m, platform, f"to_halves_{row}", DstRowToHalves) for row in range(BLOCK_ROWS)]
        for row, halves in enumerate(rows):
            m.d.comb += [
                halves.i.eq(self.write_values.word_select(row, DstRow.size)),
                halves.dst32.eq(self.write_address.dst32),
                halves.fp16.eq(self.write_address.fp16),
            ]
        high, high_absent = self._half(m, 0, pairs, [row.high for row in rows])
        low, low_absent = self._half(m, 1, pairs, [row.low for row in rows], high_absent["written"])
        absent = {}
        for name, address in (("matrix", self.address), ("outside", self.read_address)):
            absent[name] = Signal(BLOCK_ROWS, name=f"{name}_absent")
            in_low = ~address.dst32 & address.row[3]
            m.d.comb += absent[name].eq(Mux(in_low, low_absent[name], high_absent[name]))
        m.d.comb += self.undefined.eq(absent["matrix"])

        for row in range(BLOCK_ROWS):
            reader = instantiate(m, platform, f"from_halves_{row}", DstRowFromHalves)
            m.d.comb += [
                reader.high.eq(high["matrix"].word_select(row, ROW_WIDTH)),
                reader.low.eq(low["matrix"].word_select(row, ROW_WIDTH)),
                reader.address.eq(self.address),
                self.o.word_select(row, DstRow.size).eq(Mux(absent["matrix"][row] & ~self.stale, 0, reader.o)),
            ]
        own_bits = self.read_rows.bit_length() - 1
        present = []
        for lane in range(self.read_rows):
            outside = instantiate(m, platform, f"from_halves_outside_{lane}", DstRowFromHalves)
            row = Cat(Const(lane, own_bits), self.read_address.row[own_bits:3])
            m.d.comb += [
                outside.high.eq(high["outside"].word_select(row, ROW_WIDTH)),
                outside.low.eq(low["outside"].word_select(row, ROW_WIDTH)),
                outside.address.eq(self.read_address),
            ]
            present.append(Mux(absent["outside"].bit_select(row, 1), 0, outside.o))
        m.d.comb += self.read_o.eq(Cat(present))
        return m

    def _half(
        self, m: Module, half: int, pairs: dict[str, Signal], rows: list, fresh: Value | None = None
    ) -> tuple[dict[str, Value], dict[str, Value]]:
        """Add one memory and the flags of its rows; return for each reader the block that it reads, and the rows without a flag.

        ``fresh`` are the rows without a flag among those that are written, if 32-bit rows have it in the other memory.
        """
        name = ("high", "low")[half]
        layout = data.ArrayLayout(HALF * self.columns, BLOCK_ROWS * self.column_groups)
        m.submodules[name] = cells = memory.Memory(shape=layout, depth=PAIRS, init=[])
        m.submodules[f"{name}_rows"] = flags = memory.Memory(
            shape=data.ArrayLayout(1, BLOCK_ROWS), depth=PAIRS, init=[]
        )
        defined = Signal(PAIRS, name=f"defined_{name}")  # blocks whose flags count
        seen, absent = {}, {}
        for reader, pair in pairs.items():
            flag_read = flags.read_port(domain="comb")
            has_rows = defined.bit_select(pair, 1).replicate(BLOCK_ROWS)
            absent[reader] = Signal(BLOCK_ROWS, name=f"{reader}_absent_{name}")
            m.d.comb += [flag_read.addr.eq(pair), absent[reader].eq(~(flag_read.data.as_value() & has_rows))]
            if reader != "written":
                read = cells.read_port(domain="comb")
                m.d.comb += read.addr.eq(pair)
                seen[reader] = read.data.as_value()

        written, pair = self.write_address, pairs["written"]
        write, flag_write = (each.write_port(granularity=1) for each in (cells, flags))
        here, flagged = Signal(name=f"write_{name}"), Signal(name=f"flagged_{name}")
        fresh = absent["written"] if fresh is None else Mux(written.dst32, fresh, absent["written"])
        known = defined.bit_select(pair, 1)
        m.d.comb += [
            here.eq(self.write_rows.any() & (written.dst32 | (written.row[3] == half))),
            flagged.eq(here & ~(written.dst32 & half)),
            write.addr.eq(pair),
            flag_write.addr.eq(pair),
            flag_write.data.as_value().eq(self.write_rows),
            flag_write.en.eq(Mux(flagged, self.write_rows | ~known.replicate(BLOCK_ROWS), 0)),
        ]
        for row in range(BLOCK_ROWS):
            for group in range(self.column_groups):
                index = row * self.column_groups + group
                words = rows[row].word_select(group, HALF * self.columns)
                # The next pass of an instruction reads the other columns of an undefined row as 0 too.
                m.d.comb += [
                    write.en[index].eq(here & self.write_rows[row] & (self.write_columns[group] | fresh[row])),
                    write.data[index].eq(Mux(self.write_columns[group], words, 0)),
                ]
        with m.If(flagged):
            m.d.sync += known.eq(1)
        with m.If(self.zero):
            self._zero(m, half, pairs["matrix"], defined, flag_write)
        return seen, absent

    def _zero(self, m: Module, half: int, pair: Signal, defined: Signal, flag_write: memory.WritePort) -> None:
        """Take the flags of rows away; 16 rows are one pair of 16-bit blocks, or the upper halves of two pairs."""
        with m.Switch(self.zeroed):
            with m.Case(Zeroed.ROW):
                with m.If(self.address.row[3] == half):
                    m.d.comb += [
                        flag_write.addr.eq(pair),
                        flag_write.data.as_value().eq(0),
                        flag_write.en.eq(1 << self.address.row[:3]),
                    ]
            with m.Case(Zeroed.SIXTEEN):
                with m.If(~self.address.dst32):
                    m.d.sync += defined.bit_select(pair, 1).eq(0)
                if half == 0:
                    with m.Else():
                        m.d.sync += defined.word_select(pair[1:], 2).eq(0)
            with m.Case(Zeroed.HALF):
                m.d.sync += defined.word_select(pair[-1], PAIRS // 2).eq(0)
            with m.Case(Zeroed.ALL):
                m.d.sync += defined.eq(0)


BANKS = 2


def src_write_layout(rows: int = 1, *, keeps: bool = False) -> data.StructLayout:
    """Return the layout of ``2**count`` consecutive rows of logical words; the ``last`` write hands the bank to the Matrix unit.

    ``row`` is the first one, a multiple of their number; row r has its words in ``values[r % rows]``. One row has no ``count``.
    With ``keeps`` the last ``kept`` columns stay as they are.
    """
    fields = {"values": data.ArrayLayout(SrcRow, rows), "row": SRC_ROW_BITS, "last": 1}
    fields |= {"count": range(rows.bit_length())} if rows > 1 else {}
    return data.StructLayout(fields | ({"kept": range(COLUMNS)} if keeps else {}))


class SrcPointers(data.Struct):
    """The bank that the unpacker writes next, and the bank that the Matrix unit reads."""

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
    keeps : True if a write may leave columns as they are.

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

    def __init__(
        self, blocks: int, rows: int = 1, *, any_block: bool = False, moves: bool = False, keeps: bool = False
    ):
        self.blocks, self.rows, self.any_block, self.moves, self.keeps = blocks, rows, any_block, moves, keeps
        own = {"fill": In(stream.Signature(FILL)), "handed": In(1), "reset": In(1), "pointers": Out(SrcPointers)}
        super().__init__(
            (own if moves else {})
            | {
                "write": In(stream.Signature(src_write_layout(rows, keeps=keeps))),
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
        columns = Signal(COLUMNS)
        m.d.comb += columns.eq(Const((1 << COLUMNS) - 1) >> (Mux(stored, p.kept, 0) if self.keeps else 0))
        place = Cat(p.row[3:], write_bank)
        if self.moves:
            filled = self.fill.p
            values = [Cat(to_physical(SRC, word) for word in row) for row in filled.values]
            rows = [Mux(stored, row, value) for row, value in zip(rows, values, strict=True)]
            enable = Mux(stored, lanes, Mux(self.fill.valid, filled.rows, 0))
            place = Mux(stored, place, Cat(filled.block, filled.bank))
        enables = Signal(BLOCK_ROWS)
        m.d.comb += enables.eq(enable)
        cells = [self._cells(m, index, rows, enables, columns, place, read_bank) for index in range(self.blocks)]
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

    def _cells(self, m: Module, index: int, rows, enables, columns, place, read_bank):
        """Add the memory of every ``blocks``-th block from ``index`` on; return the block read."""
        blocks = BANKS * SRC_ROWS // BLOCK_ROWS // self.blocks
        # A row, or each of its words, has an enable.
        words = COLUMNS if self.keeps else 1
        width = SRC.width * COLUMNS // words
        layout = data.ArrayLayout(width, BLOCK_ROWS * words)
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
            *(
                each.eq(rows[index // words % self.rows].word_select(index % words, width))
                for index, each in enumerate(write.data)
            ),
            write.en.eq(Mux(here, Cat(Mux(each, columns[:words], 0) for each in enables), 0)),
            read.addr.eq(Cat(read_block, read_bank)),
        ]
        return read.data.as_value()
