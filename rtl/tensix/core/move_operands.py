"""Operands of moves and of changes of banks: from an instruction and its thread's counters to rows, formats and banks.

Ref: tt-isa-documentation 3930471, MOVA2D, MOVB2D, MOVD2A, MOVD2B, SETRWC, CLEARDVALID, SETDVALID, ZEROSRC; of Blackhole for implied
formats; tt-llk 36b092e and ttsim v1.10.0 for MOVB2A, MOVB2D's format and UNPACR_NOP.
"""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.formats import Format
from bitpath.rtl.tensix.core.config import ChipConfig
from bitpath.rtl.tensix.core.decode import MOVES, clearing, handing_over, named
from bitpath.rtl.tensix.core.matrix_operands import Implied
from bitpath.rtl.tensix.core.thread_view import view_layout
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS
from bitpath.rtl.tensix.matrix.instruction import DST_ROW_BITS
from bitpath.rtl.tensix.matrix.move import Move, MoveKind

COLUMN_0, ONE_ROW_TO_8, FOUR_ROWS = range(3)
"""Bits of MOVB2D's mode; the second goes before the third."""
SEVERAL = 1
"""Bit of the mode of all other moves: eight rows in MOVA2D, else four."""


class MoveOperands(wiring.Component):
    """Combinational: latency 0.

    Parameters
    ----------
    config : the chip, and the size of L1.

    Members
    -------
    view : In(view_layout)
    implied : In(Implied), which Blackhole reads
    o : Out(Move)
    format : Out(4), format that UNPACR_NOP's bank implies
    rests : Out(1), the instruction changes an unpacker's bank: both unpackers must be idle
    refused : Out(1), a core does not execute the instruction: TF32 with a low half, TF32 or a low half from a 16-bit Dst, an unknown
        format, 32-bit Dst rows from 512 on
    """

    clocked = False

    def __init__(self, config: ChipConfig):
        self.config = config
        super().__init__(
            {
                "view": In(view_layout(config.chip)),
                "implied": In(Implied),
                "o": Out(Move),
                "format": Out(FORMAT_BITS),
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
        self._formats(m)
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
            o.control.wide.eq(to_dst & (tf32 | (follows & ~low_half))),
            o.dst32.eq(fp32 | shared.int8_math[0]),
        ]
        self._rows(m, row)
        self._banks(m)
        refusals = [
            tf32 & low_half,
            from_dst & ~o.dst32 & (low_half | tf32),
            (to_dst | from_dst) & ~o.control.dst_format.matches(*Format),
            named(instruction, "MOVB2D", "MOVB2A") & ~o.control.own_format.matches(*Format),
            Mux(to_dst, o.control.wide | low_half, from_dst & o.dst32) & row[-1],
        ]
        m.d.comb += self.refused.eq(Cat(refusals).any())
        return m

    def _formats(self, m: Module) -> None:
        """Choose formats; of Blackhole's SrcB the bank stands for SrcA's format too."""
        shared, own, o = self.view.shared, self.view.own, self.o
        src_a, src_b = (Value.cast(shared[f"src_{side}_format"][0]) for side in "ab")
        of_a, of_b, to_b = src_a, src_b, src_a
        if self.config.chip is Chip.BLACKHOLE:
            off_a, off_b = own.implied_src_a_disabled[0], own.implied_src_b_disabled[0]
            of_a = Mux(off_a, src_a, self.implied.src_a)
            of_b = Mux(off_b, src_b, self.implied.src_b)
            to_b = Mux(Mux(named(self.view.instruction, "MOVB2D"), off_a, off_b), src_a, self.implied.src_b)
        from_a = named(self.view.instruction, "MOVA2D", "MOVD2A")
        m.d.comb += [o.control.dst_format.eq(Mux(from_a, of_a, to_b)), o.control.own_format.eq(of_b)]

    def _rows(self, m: Module, dst_row: Value) -> None:
        """Choose rows, aligned to their number by clearing low bits."""
        instruction, rwc, o = self.view.instruction, self.view.rwc, self.o
        mode = instruction.mode
        of_b = named(instruction, "MOVB2D")
        several = Mux(named(instruction, "MOVA2D"), 3, 2)
        spread = of_b & mode[ONE_ROW_TO_8]
        alone = Mux(mode[ONE_ROW_TO_8], 3, Mux(mode[FOUR_ROWS], 2, 0))
        low = Signal(3)
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
            o.dst_row.eq(dst_row ^ (dst_row & low)),
        ]

    def _banks(self, m: Module) -> None:
        """Choose what is cleared, and who owns the banks then."""
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
            self.format.eq(Mux(instruction.unpacker, formats[1], formats[0])),
            self.rests.eq(o.clears.any() | change.hand_over.any() | change.reset),
        ]
