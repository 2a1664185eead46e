"""Operands of the Matrix unit: from an instruction and its thread's counters to rows, formats and phase.

Ref: tt-isa-documentation 3930471, pages of the instructions; of Blackhole for implied formats.
"""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.formats import (
    BLOCK_ROWS,
    COLUMNS,
    EXPONENT5_FORMATS,
    STYLE_FORMATS,
    Format,
    Style,
)
from bitpath.rtl.tensix.core.config import ChipConfig
from bitpath.rtl.tensix.core.config_file import field_of
from bitpath.rtl.tensix.core.decode import named
from bitpath.rtl.tensix.core.thread_view import view_layout
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS, StyleCode
from bitpath.rtl.tensix.matrix.instruction import DST_ROW_BITS, Instruction, Opcode, Zeroed

OPCODES = ("MVMUL", "DOTPV", "GAPOOL", "ELWMUL", "ELWADD", "ELWSUB", "ZEROACC", "GMPOOL")
ELEMENTWISE = ("ELWMUL", "ELWADD", "ELWSUB")
POOLS = ("GAPOOL", "GMPOOL")
BLOCK_MASK = 0xFF
ROW_BROADCAST = 0x3F9
"""Bits of the first Dst row of an MVMUL with row broadcast."""


class Implied(data.Struct):
    """Formats that the banks imply which the Matrix unit reads next."""

    src_a: FORMAT_BITS
    src_b: FORMAT_BITS


class MatrixOperands(wiring.Component):
    """Combinational: latency 0.

    Parameters
    ----------
    config : the chip, and the size of L1.

    Members
    -------
    view : In(view_layout)
    implied : In(Implied), which Blackhole reads
    o : Out(Instruction)
    refused : Out(1), a core does not execute the instruction: formats of different styles or of none, SrcB's denormals in MVMUL,
        DOTPV or GAPOOL, a fidelity phase in ELWADD or ELWSUB, SrcA rows that the numerics do not allow, 32-bit Dst rows from 512
        on
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
            o.dst_row.eq(row & ~(BLOCK_ROWS - 1)),
            o.broadcast_row.eq(broadcasts),
            o.broadcast_column.eq(elementwise & instruction.broadcast_column),
            o.keep_src_b_denormals.eq(elementwise & shared.zero_flag_disabled_src[0]),
            o.accumulate.eq(instruction.add_dst),
            o.argmax.eq(instruction.argmax),
            Cat(o.flip_a, o.flip_b).eq(Mux(clears, 0, instruction.flip)),
            Cat(o.release_a, o.release_b).eq(Mux(clears, 0, instruction.flip & ~own.clear_dvalid_disable[0])),
        ]
        with m.If(pools):
            m.d.comb += o.dst_row.eq(row & ~(BLOCK_ROWS // 2 - 1))
        with m.Elif(broadcasts & ~elementwise):
            m.d.comb += o.dst_row.eq(row & ROW_BROADCAST)
        wide = self._wide()
        with m.If(clears):
            absent = self._zeroes(m, row, wide)
        adds = named(instruction, "ELWADD", "ELWSUB")
        step = self.config.numerics.src_a_row_step
        row_mask = (COLUMNS if step == COLUMNS else BLOCK_ROWS) - 1
        refusals = [
            ~clears & ~together,
            shared.zero_flag_disabled_src[0] & ~elementwise & ~clears & ~named(instruction, "GMPOOL"),
            adds & phase.any(),
            ~elementwise & ~clears & (src_a_row & row_mask).any(),
            named(instruction, "GMPOOL") & (src_a_row & COLUMNS - 1).any(),
            wide & ~clears & row[-1],
            instruction.argmax & named(instruction, "GMPOOL") & ~wide,
        ]
        m.d.comb += [self.refused.eq(Cat(refusals).any()), self.idles.eq(clears & absent)]
        return m

    def _formats(self, m: Module) -> Value:
        """Choose formats, style and width of Dst; return whether the formats are of this style."""
        shared, own, o = self.view.shared, self.view.own, self.o
        src_a, src_b = (Value.cast(shared[f"src_{side}_format"][0]) for side in "ab")
        if self.config.chip is Chip.BLACKHOLE:
            src_a = Mux(own.implied_src_a_disabled[0], src_a, self.implied.src_a)
            src_b = Mux(own.implied_src_b_disabled[0], src_b, self.implied.src_b)
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
        return Mux(integer, of_style[Style.INT8], Mux(short, of_style[Style.FP16], of_style[Style.BF16]))

    def _wide(self) -> Value:
        """Return whether Dst has rows of 32 bits."""
        return self.view.shared.fp32_enabled[0] | self.view.shared.int8_math[0]

    def _zeroes(self, m: Module, row: Signal, wide: Value) -> Value:
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
