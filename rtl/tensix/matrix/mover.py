"""Mover of the Matrix unit: rows between SrcA, SrcB and Dst, and words of whole banks::

      src_a, src_b, dst -> 8 rows to their places -> SourceToDst x 8 x 16 -> dst_values
                                                  -> DstToSource x 8 x 16 -> fill_a, fill_b
      src_b             -> TurnBuffer --------------------------------------> fill_b

Ref: those of `move`.
"""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, DST32, SRC, SRC_ROWS
from bitpath.golden.tensix.declarations.numerics import WORMHOLE_DOCUMENTED
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.tensix.dot.layouts import DstRow, SrcRow
from bitpath.rtl.tensix.matrix.instruction import DST_ROW_BITS, SRC_ROW_BITS, MoverConfig
from bitpath.rtl.tensix.matrix.operand_select import chosen
from bitpath.rtl.tensix.matrix.registers import BLOCK_WIDTH, FILL, DstAddress, SrcPointers
from bitpath.rtl.tensix.matrix.source_to_dst import SHORT_FORMATS, DstToSource, PlaceControl, SourceToDst
from bitpath.rtl.tensix.unpack.layouts import TurnBufferConfig
from bitpath.rtl.tensix.unpack.turn_buffer import TurnBuffer

# Instructions that move rows between SrcA, SrcB and Dst, clear banks of the sources, or change the owners of banks.
#
# Ref: tt-isa-documentation 3930471, MOVA2D, MOVB2D, MOVD2A, MOVD2B, TRNSPSRCB, ZEROSRC, CLEARDVALID, SETDVALID; ttsim v1.10.0 for
# MOVB2A and UNPACR_NOP.


SIDES = 2
"""SrcA and SrcB, bits 0 and 1 of a mask of sources."""


class MoveKind(enum.Enum, shape=3):
    """Kinds of moves between registers; BANKS clears banks or changes their owners."""

    BANKS = 0
    MOVA2D = 1
    MOVB2D = 2
    MOVD2A = 3
    MOVD2B = 4
    MOVB2A = 5
    TRNSPSRCB = 6


class BankChange(data.Struct):
    """Changes of the banks' owners, for SrcA in bit 0 and SrcB in bit 1.

    - ``hand_over`` : the unpacker's bank goes to the Matrix unit, and the unpacker goes on to the other one.
    - ``release`` : the Matrix unit's bank goes to the unpacker; ``flip`` : the Matrix unit goes on to the other one.
    - ``reset`` : all banks go to the unpackers; all sides go on with bank 0.
    """

    hand_over: SIDES
    release: SIDES
    flip: SIDES
    reset: 1


class Move(data.Struct):
    """A move, a clearing, or a change of owners.

    - ``rows_log2`` : 1, 4 or 8 rows; the first ones are multiples of their number.
    - ``spread`` : one row, which need not be aligned, goes to all; ``column_0`` : column 0 goes to all columns. MOVB2D alone.
    - ``dst32`` : MOVD2A and MOVD2B find 32-bit words in Dst, and take a half of them but for TF32.
    - ``src_row`` : the row of the source that the name of the move has, SrcB's in MOVB2A; ``src_a_row`` : MOVB2A's in SrcA.
    - ``clears`` : sources whose bank becomes 0, with ``ones`` SrcA's all ones: the unpacker's bank, with ``matrix_bank`` the
      Matrix unit's, with ``both_banks`` both. ``change`` comes after that. BANKS alone.
    """

    kind: MoveKind
    control: PlaceControl
    rows_log2: range(4)
    spread: 1
    column_0: 1
    dst32: 1
    src_row: SRC_ROW_BITS
    src_a_row: SRC_ROW_BITS
    dst_row: DST_ROW_BITS
    clears: SIDES
    ones: 1
    matrix_bank: 1
    both_banks: 1
    change: BankChange


BLOCK_BITS = (BLOCK_ROWS - 1).bit_length()
FIRST_TURNED = 2
"""Block of the first of SrcB's rows 16 to 31, which TRNSPSRCB exchanges with their columns."""
TURNED = 2
"""Blocks of these rows."""
BANK_BLOCKS = SRC_ROWS // BLOCK_ROWS


class Mover(wiring.Component):
    """A move takes a cycle in which its rows are free, TRNSPSRCB four, a cleared bank eight, both sixteen.

    Parameters
    ----------
    config : numerics, of which ``zero_flag_disabled``, ``move_masking`` and ``low_half_shows_stale`` are read.

    Members
    -------
    move : In(stream of Move); it is taken in its last cycle
    block_a : Out(3), even, and block_b : Out(3), 8-row blocks of the Matrix unit's banks; address : Out(DstAddress)
    src_a : In(16 rows), src_b : In(8 rows), dst : In(8 rows), logical words found there
    stale : Out(1), undefined rows of Dst are read as they were
    settled : In(1), no result for the Dst block is in flight; dst_ready : In(1), and it may be written in this cycle
    dst_values : Out(8 rows), dst_rows : Out(8), enables of the rows of the Dst block
    pointers_a, pointers_b : In(SrcPointers); fill_a, fill_b : Out(streams of FILL)
    change : Out(BankChange), in the cycle in which the move is taken
    """

    def __init__(self, config: MoverConfig):
        self.config = config
        super().__init__(
            {
                "move": In(stream.Signature(Move)),
                "block_a": Out(BLOCK_BITS),
                "block_b": Out(BLOCK_BITS),
                "address": Out(DstAddress),
                "src_a": In(2 * BLOCK_ROWS * SrcRow.size),
                "src_b": In(BLOCK_ROWS * SrcRow.size),
                "dst": In(BLOCK_WIDTH),
                "stale": Out(1),
                "settled": In(1),
                "dst_ready": In(1),
                "dst_values": Out(BLOCK_WIDTH),
                "dst_rows": Out(BLOCK_ROWS),
                "pointers_a": In(SrcPointers),
                "pointers_b": In(SrcPointers),
                "fill_a": Out(stream.Signature(FILL)),
                "fill_b": Out(stream.Signature(FILL)),
                "change": Out(BankChange),
            }
        )

    def elaborate(self, platform):
        m = Module()
        move = self.move.p
        kind = move.kind
        step = Signal(range(2 * BANK_BLOCKS))
        to_dst, from_dst = Signal(), Signal()
        turns, clears = kind == MoveKind.TRNSPSRCB, Signal(SIDES)
        target = Signal.like(move.src_row)
        m.d.comb += [
            to_dst.eq((kind == MoveKind.MOVA2D) | (kind == MoveKind.MOVB2D)),
            from_dst.eq((kind == MoveKind.MOVD2A) | (kind == MoveKind.MOVD2B)),
            clears.eq(Mux(kind == MoveKind.BANKS, move.clears, 0)),
            target.eq(Mux(kind == MoveKind.MOVB2A, move.src_a_row, move.src_row)),
            self.block_a.eq(move.src_row[BLOCK_BITS:] & ~1),
            self.block_b.eq(Mux(turns, FIRST_TURNED + step[0], move.src_row[BLOCK_BITS:])),
        ]
        m.d.comb += [
            self.address.row.eq(move.dst_row),
            self.address.dst32.eq(Mux(from_dst, move.dst32, move.control.wide | move.control.low_half)),
            self.stale.eq(to_dst & move.control.low_half & self.config.numerics.low_half_shows_stale),
            self.address.fp16.eq(move.control.dst_format.matches(*SHORT_FORMATS)),
        ]
        first = Mux(to_dst, move.dst_row, target)[:BLOCK_BITS]
        enables = Signal(BLOCK_ROWS)
        m.d.comb += [
            enable.eq((Const(lane, BLOCK_BITS) >> move.rows_log2) == (first >> move.rows_log2))
            for lane, enable in enumerate(enables)
        ]
        places, words = self._words(m, platform, self._placed(m, from_dst, first), from_dst)
        m.submodules.turn = turn = TurnBuffer(TurnBufferConfig(rows=BLOCK_ROWS))
        m.d.comb += [
            turn.i.valid.eq(self.move.valid & turns & (step < TURNED)),
            turn.i.p.turn.eq(1),
            turn.i.p.rows.eq(self.src_b),
            turn.o.ready.eq((step >= TURNED) & self.fill_b.ready),
            self.dst_values.eq(places),
            self.dst_rows.eq(Mux(self.move.valid & to_dst & self.dst_ready, enables, 0)),
        ]
        written = [clears[0], clears[1]]
        written[0] |= (from_dst & self.settled & (kind == MoveKind.MOVD2A)) | (kind == MoveKind.MOVB2A)
        written[1] |= (from_dst & self.settled & (kind == MoveKind.MOVD2B)) | (turns & turn.o.valid & (step >= TURNED))
        for side, (fill, pointers) in enumerate(((self.fill_a, self.pointers_a), (self.fill_b, self.pointers_b))):
            erased = move.ones.replicate(len(words)) if side == 0 else Const(0, len(words))
            present = Mux(turns, turn.o.p.as_value(), words) if side else words
            cleared_bank = Mux(move.both_banks, step[-1], Mux(move.matrix_bank, pointers.read, pointers.written))
            moved_block = Mux(turns, FIRST_TURNED + step[0], target[BLOCK_BITS:]) if side else target[BLOCK_BITS:]
            m.d.comb += [
                fill.valid.eq(self.move.valid & written[side]),
                fill.p.values.eq(Mux(clears[side], erased, present)),
                fill.p.rows.eq(Mux(clears[side] | turns, ~0, enables)),
                fill.p.block.eq(Mux(clears[side], step[:BLOCK_BITS], moved_block)),
                fill.p.bank.eq(Mux(clears[side], cleared_bank, pointers.read)),
            ]
        self._steps(m, step, to_dst, from_dst, turns, clears, turn)
        return m

    def _placed(self, m: Module, from_dst: Value, first: Value) -> list[Value]:
        """Return the eight rows of words that go to the rows of the target's block."""
        move = self.move.p
        upper, size = move.src_row[BLOCK_BITS], SrcRow.size
        options = []
        for row in range(BLOCK_ROWS):
            low, high = (self.src_a.word_select(each, size) for each in (row, row + BLOCK_ROWS))
            words = Mux(move.kind == MoveKind.MOVA2D, Mux(upper, high, low), self.src_b.word_select(row, size))
            wide = Cat(Cat(words.word_select(k, SRC.width), Const(0, DST32.width - SRC.width)) for k in range(COLUMNS))
            option = Signal(DstRow.size, name=f"found_{row}")
            m.d.comb += option.eq(Mux(from_dst, self.dst.word_select(row, DstRow.size), wide))
            options.append(option)
        start = Mux(from_dst, move.dst_row[:BLOCK_BITS], move.src_row[:BLOCK_BITS])
        placed = []
        for lane in range(BLOCK_ROWS):
            # Both first rows are multiples of the number of rows, so that places differ by an exclusive or.
            index = Signal(BLOCK_BITS, name=f"index_{lane}")
            row = Signal(DstRow.size, name=f"placed_{lane}")
            m.d.comb += [
                index.eq(Mux(move.spread, start, start ^ first ^ lane)),
                row.eq(chosen(options, index)),
            ]
            placed.append(row)
        return placed

    def _words(self, m: Module, platform, placed: list[Value], from_dst: Value) -> tuple[Value, Value]:
        """Return the block's words for Dst, and for a source."""
        move = self.move.p
        places, words = [], []
        for lane, row in enumerate(placed):
            for column in range(COLUMNS):
                name = f"{lane}_{column}"
                to_dst = instantiate(m, platform, f"to_dst_{name}", SourceToDst, self.config.numerics)
                to_source = instantiate(m, platform, f"to_source_{name}", DstToSource)
                own = row.word_select(column, DST32.width)
                word = Mux(move.column_0, row.word_select(0, DST32.width), own) if column else own
                m.d.comb += [
                    to_dst.word.eq(word[: SRC.width]),
                    to_dst.old.eq(self.dst.word_select(lane * COLUMNS + column, DST32.width)),
                    to_dst.control.eq(move.control),
                    to_source.word.eq(own),
                    to_source.dst32.eq(move.dst32),
                    to_source.low_half.eq(move.control.low_half),
                    to_source.format.eq(move.control.dst_format),
                ]
                places.append(to_dst.o)
                words.append(Mux(from_dst, to_source.o, to_dst.datum))
        moved = Signal(BLOCK_ROWS * SrcRow.size)
        m.d.comb += moved.eq(Cat(words))
        return Cat(places), moved

    def _steps(
        self, m: Module, step: Signal, to_dst: Value, from_dst: Value, turns: Value, clears: Value, turn: TurnBuffer
    ) -> None:
        """Count the cycles of a clearing or of a transposition; end the move."""
        move, fills = self.move.p, (self.fill_a, self.fill_b)
        goes, last = Signal(), Signal()
        taken = Cat(~fill.valid | fill.ready for fill in fills).all()
        with m.If(to_dst):
            m.d.comb += [goes.eq(self.dst_ready), last.eq(1)]
        with m.Elif(turns):
            m.d.comb += [
                goes.eq(Mux(step < TURNED, turn.i.ready, turn.o.valid & self.fill_b.ready)),
                last.eq(step == 2 * TURNED - 1),
            ]
        with m.Elif(from_dst):
            m.d.comb += [goes.eq(self.settled & taken), last.eq(1)]
        with m.Else():
            blocks = Mux(clears.any(), Mux(move.both_banks, 2 * BANK_BLOCKS, BANK_BLOCKS), 1)
            m.d.comb += [goes.eq(taken), last.eq(step == blocks - 1)]
        m.d.comb += [
            self.move.ready.eq(goes & last),
            self.change.eq(Mux(self.move.valid & self.move.ready, move.change.as_value(), 0)),
        ]
        with m.If(self.move.valid & goes):
            m.d.sync += step.eq(Mux(last, 0, step + 1))


_DOCUMENTED = MoverConfig(numerics=WORMHOLE_DOCUMENTED.numerics)


RECORDS = (
    Unit(
        name="mover",
        config_type=MoverConfig,
        build=Mover,
        summary="Tensix: rows between SrcA, SrcB and Dst, and words of whole banks",
        covered=Covered(_DOCUMENTED, 300),
        judges=(Judge(98, _DOCUMENTED),),
        waves=(
            CLOCK,
            WaveGroup("move", r"(move__|step|change)"),
            WaveGroup("found", r"(block_[ab]|address|src_[ab]|dst|pointers_)"),
            WaveGroup("written", r"(dst_values|dst_rows|fill_)"),
            WaveGroup("first word", r"to_(dst|source)_0_0\."),
        ),
    ),
)
