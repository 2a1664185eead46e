"""Operands of the Matrix unit: from an instruction and its thread's counters to rows, formats and phase.

Ref: tt-isa-documentation 3930471, pages of the instructions; of Blackhole for implied formats.
"""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import (
    BLOCK_ROWS,
    COLUMNS,
    EXPONENT5_FORMATS,
    STYLE_FORMATS,
    Chip,
    Format,
    Style,
)
from bitpath.rtl.common.unit import Covered, Judge, Unit
from bitpath.rtl.tensix.core.config import ChipConfig
from bitpath.rtl.tensix.core.config_file import field_of
from bitpath.rtl.tensix.core.decode import MOVES, clearing, handing_over, named
from bitpath.rtl.tensix.core.dst_rows import RowOrder, ordered, row_order
from bitpath.rtl.tensix.core.thread_view import view_layout
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS, StyleCode
from bitpath.rtl.tensix.matrix.instruction import DST_ROW_BITS, Instruction, Opcode, Zeroed
from bitpath.rtl.tensix.matrix.mover import Move, MoveKind
from bitpath.rtl.tensix.matrix.source_to_dst import SHORT_FORMATS

OPCODES = ("MVMUL", "DOTPV", "GAPOOL", "ELWMUL", "ELWADD", "ELWSUB", "ZEROACC", "GMPOOL")
ELEMENTWISE = ("ELWMUL", "ELWADD", "ELWSUB")
POOLS = ("GAPOOL", "GMPOOL")
BLOCK_MASK = 0xFF
ROW_BROADCAST = 0x3F9
"""Bits of the first Dst row of an MVMUL with row broadcast."""


class BankFormat(data.Struct):
    """Format that a bank implies; not ``known`` behind a SETDVALID."""

    code: FORMAT_BITS
    known: 1


class Implied(data.Struct):
    """Implied formats of the banks that the Matrix unit reads next."""

    src_a: BankFormat
    src_b: BankFormat


class MatrixOperands(wiring.Component):
    """It is combinational, with latency 0.

    Parameters
    ----------
    config : the chip, and the size of L1.

    Members
    -------
    view : In(view_layout)
    implied : In(Implied), which Blackhole reads
    o : Out(Instruction)
    refused : Out(1), a core does not execute the instruction: formats of different styles, of none or unknown ones, SrcB's denormals in MVMUL,
        DOTPV or GAPOOL, a fidelity phase in ELWADD or ELWSUB, SrcA rows that the numerics do not allow; with Blackhole's
        permutations of Dst rows eight swizzled rows, and 16 remapped rows of a ZEROACC
    idles : Out(1), the unit has nothing to do: a ZEROACC of 16 rows that do not exist
    """

    clocked = False

    def __init__(self, config: ChipConfig):
        self.config = config
        layout = view_layout(config.chip)
        super().__init__(
            {"view": In(layout), "implied": In(Implied), "o": Out(Instruction), "refused": Out(1), "idles": Out(1)}
        )

    def elaborate(self, platform):
        m = Module()
        view, o = self.view, self.o
        instruction, shared, own = view.instruction, view.shared, view.own
        elementwise, pools = named(instruction, *ELEMENTWISE), named(instruction, *POOLS)
        clears = named(instruction, "ZEROACC")
        for name in OPCODES:
            with m.If(named(instruction, name)):
                m.d.comb += o.opcode.eq(Opcode[name])
        with m.If(named(instruction, "DOTPV") & instruction.broadcast_row):
            # DOTPV and MVMUL are equal with one broadcast row of SrcB.
            m.d.comb += o.opcode.eq(Opcode.MVMUL)
        together = self._formats(m)
        row, phase = Signal(DST_ROW_BITS), Signal.like(o.phase)
        src_a_row = view.rwc.src_a.value & ~(BLOCK_ROWS - 1)
        broadcasts = instruction.broadcast_row & ~clears
        m.d.comb += [
            row.eq(Mux(clears, instruction.operand, instruction.dst) + view.rwc.dst.value + own.math_offset[0]),
            phase.eq(view.rwc.fidelity_phase + own.fidelity_base[0]),
            o.phase.eq(phase),
            o.src_a_row.eq(src_a_row),
            o.src_b_row.eq(Mux(broadcasts, view.rwc.src_b.value, view.rwc.src_b.value & ~(BLOCK_ROWS - 1))),
            o.broadcast_row.eq(broadcasts),
            o.broadcast_column.eq(elementwise & instruction.broadcast_column),
            o.keep_src_b_denormals.eq(elementwise & shared.zero_flag_disabled_src[0]),
            o.accumulate.eq(instruction.add_dst),
            o.argmax.eq(instruction.argmax),
            Cat(o.flip_a, o.flip_b).eq(Mux(clears, 0, instruction.flip)),
            Cat(o.release_a, o.release_b).eq(Mux(clears, 0, instruction.flip & ~own.clear_dvalid_disable[0])),
        ]
        order, wide, aligned = Signal(RowOrder), self._wide(), Signal(DST_ROW_BITS)
        m.d.comb += [order.eq(row_order(shared)), aligned.eq(row & ~(BLOCK_ROWS - 1))]
        with m.If(pools):
            m.d.comb += aligned.eq(row & ~(BLOCK_ROWS // 2 - 1))
        with m.Elif(broadcasts & ~elementwise):
            m.d.comb += aligned.eq(row & ROW_BROADCAST)
        m.d.comb += o.dst_row.eq(ordered(aligned, order, wide))
        with m.If(clears):
            absent = self._zeroes(m, ordered(row, order, wide), wide)
        adds = named(instruction, "ELWADD", "ELWSUB")
        step = self.config.numerics.src_a_row_step
        row_mask = (COLUMNS if step == COLUMNS else BLOCK_ROWS) - 1
        refusals = [
            ~clears & ~together,
            shared.zero_flag_disabled_src[0] & ~elementwise & ~clears & ~named(instruction, "GMPOOL"),
            adds & phase.any(),
            ~elementwise & ~clears & (src_a_row & row_mask).any(),
            named(instruction, "GMPOOL") & (src_a_row & COLUMNS - 1).any(),
            ~clears & ~pools & wide & order.swizzles,
            clears & (instruction.mode == Zeroed.SIXTEEN) & order.remaps & ~absent,
            instruction.argmax & named(instruction, "GMPOOL") & ~wide,
        ]
        m.d.comb += [self.refused.eq(Cat(refusals).any()), self.idles.eq(clears & absent)]
        return m

    def _formats(self, m: Module) -> Value:
        """Choose formats, style and width of Dst; return whether the formats are known and of this style."""
        shared, own, o = self.view.shared, self.view.own, self.o
        src_a, src_b = (Value.cast(shared[f"src_{side}_format"][0]) for side in "ab")
        known = Const(1)
        if self.config.chip is Chip.BLACKHOLE:
            off_a, off_b = own.implied_src_a_disabled[0], own.implied_src_b_disabled[0]
            src_a, src_b = Mux(off_a, src_a, self.implied.src_a.code), Mux(off_b, src_b, self.implied.src_b.code)
            known = (off_a | self.implied.src_a.known) & (off_b | self.implied.src_b.known)
        m.d.comb += [
            o.src_a_format.eq(src_a),
            o.src_b_format.eq(src_b),
            o.style.eq(StyleCode.BF16),
            o.dst32.eq(self._wide()),
        ]
        integer, short = shared.int8_math[0], src_a.matches(*EXPONENT5_FORMATS)
        with m.If(integer):
            m.d.comb += o.style.eq(StyleCode.INT8)
        with m.Elif(src_a == Format.TF32):
            m.d.comb += o.style.eq(StyleCode.TF32)
        with m.Elif(short):
            m.d.comb += o.style.eq(StyleCode.FP16)
        of_style = {
            style: src_a.matches(*STYLE_FORMATS[style]) & src_b.matches(*STYLE_FORMATS[style])
            for style in (Style.INT8, Style.FP16, Style.BF16)
        }
        return known & Mux(integer, of_style[Style.INT8], Mux(short, of_style[Style.FP16], of_style[Style.BF16]))

    def _wide(self) -> Value:
        """Return whether Dst has rows of 32 bits."""
        return self.view.shared.fp32_enabled[0] | self.view.shared.int8_math[0]

    def _zeroes(self, m: Module, row: Value, wide: Value) -> Value:
        """Choose the rows of a ZEROACC; return whether its 16 rows do not exist."""
        instruction, o = self.view.instruction, self.o
        block, sixteen = self._block(m), instruction.mode == Zeroed.SIXTEEN
        m.d.comb += [o.zeroed.eq(instruction.mode), o.dst32.eq(sixteen & instruction.dst32)]
        with m.Switch(instruction.mode):
            with m.Case(Zeroed.ROW):
                # A 32-bit row has the flag of its upper half.
                upper = Cat(row[:3], Const(0, 1), row[3:8], row[8] | row[9])
                m.d.comb += o.dst_row.eq(Mux(wide, upper, row))
            with m.Case(Zeroed.SIXTEEN):
                m.d.comb += o.dst_row.eq(block << 4)
            with m.Case(Zeroed.HALF):
                m.d.comb += o.dst_row.eq(instruction.operand[0] << DST_ROW_BITS - 1)
        return sixteen & (block >= Mux(instruction.dst32, 32, 64))

    def _block(self, m: Module) -> Value:
        """Return ZEROACC's block of 16 rows; Blackhole goes on in the half that the RWC and the math offset name."""
        view = self.view
        operand = view.instruction.operand & BLOCK_MASK
        if self.config.chip is Chip.WORMHOLE:
            return operand
        wide = view.instruction.dst32
        offset = Signal(13)
        m.d.comb += offset.eq(view.rwc.dst.value + view.own.math_offset[0])
        absolute = field_of(view.shared, "zeroacc_absolute_tile_mode")[0]
        beyond = ~absolute & (offset & Mux(wide, 0x300, 0x200)).any()
        return operand + Mux(beyond, Mux(wide, 16, 32), 0)


# Operands of moves and of changes of banks: from an instruction and its thread's counters to rows, formats and banks.
#
# Ref: tt-isa-documentation 3930471, MOVA2D, MOVB2D, MOVD2A, MOVD2B, SETRWC, CLEARDVALID, SETDVALID, ZEROSRC; of Blackhole for implied
# formats; tt-llk 36b092e and ttsim v1.10.0 for MOVB2A, MOVB2D's format and UNPACR_NOP.


COLUMN_0, ONE_ROW_TO_8, FOUR_ROWS = range(3)
"""Bits of MOVB2D's mode; the second goes before the third."""
SEVERAL = 1
"""Bit of the mode of all other moves: eight rows in MOVA2D, else four."""


class MoveOperands(wiring.Component):
    """It is combinational, with latency 0.

    Parameters
    ----------
    config : the chip, and the size of L1.

    Members
    -------
    view : In(view_layout)
    implied : In(Implied), which Blackhole reads
    o : Out(Move)
    format : Out(BankFormat), implied format of the bank that an UNPACR_NOP or a SETDVALID hands over
    rests : Out(1), the instruction changes an unpacker's bank: both unpackers must be idle
    refused : Out(1), a core does not execute the instruction: TF32 with a low half, TF32 or a low half from a 16-bit Dst, an unknown
        format, eight swizzled rows of Blackhole's Dst
    """

    clocked = False

    def __init__(self, config: ChipConfig):
        self.config = config
        super().__init__(
            {
                "view": In(view_layout(config.chip)),
                "implied": In(Implied),
                "o": Out(Move),
                "format": Out(BankFormat),
                "rests": Out(1),
                "refused": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        view, o = self.view, self.o
        instruction, shared, own = view.instruction, view.shared, view.own
        for name in MOVES:
            with m.If(named(instruction, name)):
                m.d.comb += o.kind.eq(MoveKind[name])
        dst_known, own_known = self._formats(m)
        to_dst, from_dst = named(instruction, "MOVA2D", "MOVB2D"), named(instruction, "MOVD2A", "MOVD2B")
        fp32, tf32 = shared.fp32_enabled[0], o.control.dst_format == Format.TF32
        follows = fp32 & self.config.numerics.moves_follow_fp32
        low_half = Signal()
        row = Signal(DST_ROW_BITS)
        m.d.comb += [
            low_half.eq(instruction.low_half & (to_dst | from_dst)),
            row.eq(instruction.dst + view.rwc.dst.value + own.math_offset[0]),
            o.control.keeps.eq(shared.zero_flag_disabled_src[0]),
            o.control.masks.eq(named(instruction, "MOVB2D", "MOVB2A")),
            o.control.low_half.eq(low_half),
            o.control.wide.eq(to_dst & (tf32 | follows)),
            o.dst32.eq(fp32 | shared.int8_math[0]),
        ]
        apart = self._rows(m, row, Mux(to_dst, o.control.wide | low_half, from_dst & o.dst32))
        self._banks(m)
        refusals = [
            (tf32 | (to_dst & follows)) & low_half,
            from_dst & ~o.dst32 & (low_half | tf32),
            (to_dst | from_dst) & ~(dst_known & o.control.dst_format.matches(*Format)),
            apart,
            named(instruction, "MOVB2D", "MOVB2A") & ~(own_known & o.control.own_format.matches(*Format)),
        ]
        m.d.comb += self.refused.eq(Cat(refusals).any())
        return m

    def _formats(self, m: Module) -> tuple[Value, Value]:
        """Choose the formats of Dst and of SrcB; return whether they are known. On Blackhole SrcB's bank gives SrcA's format too."""
        shared, own, o = self.view.shared, self.view.own, self.o
        src_a, src_b = (Cat(shared[f"src_{side}_format"][0], Const(1, 1)) for side in "ab")
        of_a, of_b, to_b = src_a, src_b, src_a
        if self.config.chip is Chip.BLACKHOLE:
            off_a, off_b = own.implied_src_a_disabled[0], own.implied_src_b_disabled[0]
            bank_a, bank_b = self.implied.src_a.as_value(), self.implied.src_b.as_value()
            of_a, of_b = Mux(off_a, src_a, bank_a), Mux(off_b, src_b, bank_b)
            to_b = Mux(Mux(named(self.view.instruction, "MOVB2D"), off_a, off_b), src_a, bank_b)
        from_a, to_dst = (
            named(self.view.instruction, *names) for names in (("MOVA2D", "MOVD2A"), ("MOVA2D", "MOVB2D"))
        )
        of_dst, of_own, widens = Signal(BankFormat), Signal(BankFormat), Signal()
        m.d.comb += [
            of_dst.eq(Mux(from_a, of_a, to_b)),
            of_own.eq(of_b),
            widens.eq(to_dst & (shared.fp32_enabled[0] | shared.int8_math[0]) & of_dst.code.matches(*SHORT_FORMATS)),
            o.control.dst_format.eq(Mux(widens & self.config.numerics.moves_widen_exponent, Format.BF16, of_dst.code)),
            o.control.own_format.eq(of_own.code),
        ]
        return of_dst.known, of_own.known

    def _rows(self, m: Module, dst_row: Value, wide: Value) -> Value:
        """Choose rows, aligned to their number by clearing low bits; return whether those of Dst do not stay together."""
        instruction, rwc, o = self.view.instruction, self.view.rwc, self.o
        mode = instruction.mode
        of_b = named(instruction, "MOVB2D")
        several = Mux(named(instruction, "MOVA2D"), 3, 2)
        spread = of_b & mode[ONE_ROW_TO_8]
        alone = Mux(mode[ONE_ROW_TO_8], 3, Mux(mode[FOUR_ROWS], 2, 0))
        low, order, aligned = Signal(3), Signal(RowOrder), Signal(DST_ROW_BITS)
        src_row, src_a_row = Signal(o.src_row.shape()), Signal(o.src_a_row.shape())
        from_b2a = named(instruction, "MOVB2A")
        in_a = named(instruction, "MOVA2D", "MOVD2A")
        m.d.comb += [
            o.rows_log2.eq(Mux(of_b, alone, Mux(mode[SEVERAL], several, 0))),
            o.spread.eq(spread),
            o.column_0.eq(of_b & mode[COLUMN_0]),
            low.eq((1 << o.rows_log2) - 1),
            src_row.eq(
                Mux(from_b2a, instruction.src_b_row, instruction.src_row)
                + Mux(in_a, self.view.rwc.src_a.value, rwc.src_b.value)
            ),
            src_a_row.eq(instruction.src_a_row + rwc.src_a.value),
            o.src_row.eq(src_row ^ Mux(spread, 0, src_row & low)),
            o.src_a_row.eq(src_a_row ^ (src_a_row & low)),
            aligned.eq(dst_row ^ (dst_row & low)),
            order.eq(row_order(self.view.shared)),
            o.dst_row.eq(ordered(aligned, order, wide)),
        ]
        return wide & order.swizzles & (o.rows_log2 == 3)

    def _banks(self, m: Module) -> None:
        """Choose the banks to clear, and the owners of the banks after it."""
        chip, o = self.config.chip, self.o
        instruction, own, change = self.view.instruction, self.view.own, self.o.change
        unpacker = 1 << instruction.unpacker
        with m.If(named(instruction, "SETRWC")):
            m.d.comb += [
                change.flip.eq(instruction.flip),
                change.release.eq(instruction.flip & ~own.clear_dvalid_disable[0]),
            ]
        with m.Elif(named(instruction, "CLEARDVALID")):
            gives = Mux(instruction.reset, 0, instruction.flip)
            m.d.comb += [
                change.reset.eq(instruction.reset),
                change.release.eq(gives),
                change.flip.eq(Mux(instruction.keep_reading, 0, gives)),
            ]
        with m.Elif(named(instruction, "SETDVALID")):
            m.d.comb += change.hand_over.eq(instruction.sources)
        with m.Elif(named(instruction, "ZEROSRC")):
            m.d.comb += [
                o.clears.eq(instruction.sources),
                o.ones.eq(instruction.negative_infinity),
                o.matrix_bank.eq(instruction.matrix_bank),
                o.both_banks.eq(instruction.both_banks),
            ]
        with m.Elif(named(instruction, "UNPACR_NOP")):
            ones = instruction.what[2] if chip is Chip.WORMHOLE else instruction.value[0]
            m.d.comb += [
                o.clears.eq(Mux(clearing(chip, instruction), unpacker, 0)),
                o.ones.eq(ones),
                change.hand_over.eq(Mux(handing_over(chip, instruction), unpacker, 0)),
            ]
        formats = self.view.shared.unpack_out_format
        m.d.comb += [
            self.format.code.eq(Mux(instruction.unpacker, formats[1], formats[0])),
            self.format.known.eq(~named(instruction, "SETDVALID")),
            self.rests.eq(o.clears.any() | change.hand_over.any() | change.reset),
        ]


RECORDS = (
    Unit(
        name="matrix_operands",
        config_type=ChipConfig,
        build=MatrixOperands,
        summary="Tensix: rows, formats and phase of an instruction of the Matrix unit",
        covered=Covered(ChipConfig(chip=Chip.BLACKHOLE), 300),
        judges=(Judge(99, ChipConfig(chip=Chip.BLACKHOLE), 600),),
        agreed=ChipConfig(),
    ),
    Unit(
        name="move_operands",
        config_type=ChipConfig,
        build=MoveOperands,
        summary="Tensix: rows, formats and banks of a move or of a change of banks",
        covered=Covered(ChipConfig(chip=Chip.BLACKHOLE), 300),
        judges=(Judge(99, ChipConfig(chip=Chip.BLACKHOLE)),),
        agreed=ChipConfig(),
    ),
)
