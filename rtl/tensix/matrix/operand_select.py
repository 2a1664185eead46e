"""Operand multiplexers of the Matrix unit: SrcA and SrcB rows to the operands of the ``rows`` x ``cols`` cells."""

from collections.abc import Sequence
from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.hdl import ValueLike
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, EXPONENT5_FORMATS, SRC, Format
from bitpath.golden.tensix.declarations.numerics import Masking, TensixNumerics
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.dot.layouts import Operand, SrcRow, StyleCode
from bitpath.rtl.tensix.matrix.cell_row import LANES_BITS, OPERAND_BITS
from bitpath.rtl.tensix.matrix.instruction import Instruction, MatrixUnitConfig, Opcode, is_element_wise
from bitpath.rtl.tensix.pool.layouts import POOL_ROWS

# Source word to operand: mask the fraction, add the hidden bit::
#
#       bit    18    17 ....... 10   9 ........ 3  2 1 0
#       word   sign  exponent        fraction      masked if ``narrow``
#                    FP16: 14:10     INT8: magnitude, 10 bits
#
#       magnitude = 1.fraction if exponent != 0, or if SrcB keeps it, else 0
#
# Ref: tt-isa-documentation 3930471, FloatBitPatterns and MVMUL.


FRACTION_BITS = 10
EXPONENT5_BITS = 5
BF16_LACKS = 3
"""Fraction bits of a source word that BF16 lacks."""


def is_narrow(numerics: TensixNumerics, style: Value, source_format: Value) -> Value:
    """Return 1 if a source's low fraction bits are masked: by its own format, or by the style, as the numerics choose."""
    if numerics.masking is Masking.SRCA_STYLE:
        return style == StyleCode.BF16
    wide = (Format.TF32, *EXPONENT5_FORMATS)
    return ~Cat(source_format == int(fmt) for fmt in wide).any()


class ReadSource(wiring.Component):
    """A logical 19-bit source word as an operand of the multipliers.

    A float of exponent 0 is zero for every fraction; all other exponents are normal numbers. SrcB may keep data of exponent 0
    as normal numbers and integers as their magnitudes. It is combinational, with latency 0.

    Parameters
    ----------
    numerics : ``int8_zero_exponent_flush`` alone.
    is_src_b : True for SrcB, whose zero flag may be disabled.

    Members
    -------
    word : In(19)
    style : In(StyleCode)
    narrow : In(1), mask the low three fraction bits of a float
    keep_denormals, keep_zeros : In(1), for SrcB alone: keep floats of exponent 0 with a fraction, and all; each keeps integers
    o : Out(Operand)
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics, *, is_src_b: bool = False):
        self.is_src_b = is_src_b
        self.flushes_integers = numerics.int8_zero_exponent_flush
        ports = {"word": In(SRC.width), "style": In(StyleCode), "narrow": In(1), "o": Out(Operand)}
        super().__init__(ports | ({"keep_denormals": In(1), "keep_zeros": In(1)} if is_src_b else {}))

    def elaborate(self, platform):
        m = Module()
        fraction = self.word[:FRACTION_BITS]
        exponent_byte = self.word[FRACTION_BITS:-1]
        exponent = Signal(len(exponent_byte))
        m.d.comb += exponent.eq(Mux(self.style == StyleCode.FP16, exponent_byte[:EXPONENT5_BITS], exponent_byte))
        masked = Cat(Mux(self.narrow, Const(0, BF16_LACKS), fraction[:BF16_LACKS]), fraction[BF16_LACKS:])
        kept, kept_integer = Signal(), Signal()
        if self.is_src_b:
            m.d.comb += [
                kept.eq(self.keep_zeros | self.keep_denormals & masked.any()),
                kept_integer.eq(self.keep_zeros | self.keep_denormals),
            ]
        m.d.comb += self.o.sign.eq(self.word[-1])
        with m.If(self.style == StyleCode.INT8):
            counts = exponent_byte.any() | kept_integer if self.flushes_integers else Const(1)
            m.d.comb += self.o.magnitude.eq(Mux(counts, fraction, 0))
        with m.Elif(exponent.any() | kept):
            m.d.comb += [self.o.magnitude.eq(Cat(masked, Const(1))), self.o.exponent.eq(exponent)]
        return m


def chosen(options: Sequence[ValueLike], index: Value) -> Value:
    """Return ``options[index]`` as a tree of multiplexers; the number of options must be a power of two."""
    level = [Value.cast(each) for each in options]
    for bit in index:
        level = [Mux(bit, odd, even) for even, odd in zip(level[::2], level[1::2], strict=True)]
    return level[0]


class OperandSelect(wiring.Component):
    """The operands of one pass: ``rows`` x ``cols`` cells compute one part of the 8x16 block.

    Operands are concatenated into plain words, the first in the lowest bits. It is combinational, with latency 0.

    Parameters
    ----------
    config : configuration of the Matrix unit.

    Members
    -------
    instruction : In(Instruction)
    row_group, column_group : In, the part of the 8x16 block
    src_a : In(16 rows), src_b : In(8 rows), logical words
    words : Out(cols * 16 words of 19 bits), SrcA column by column, as they are; only if the unit pools
    a : Out(cols * 16 operands), SrcA column by column
    b : Out(ArrayLayout(16 operands, rows)), a SrcB row for each row of cells
    element_a, element_b : Out(ArrayLayout(cols operands, rows)), lane 0 of element-wise operations
    written : Out(8), the rows of the block that the instruction writes
    """

    clocked = False
    apart = True  # otherwise simulators recompute its wide outputs for every row of cells

    def __init__(self, config: MatrixUnitConfig):
        self.config = config
        elements = data.ArrayLayout(config.cols * OPERAND_BITS, config.rows)
        super().__init__(
            {
                "instruction": In(Instruction),
                "row_group": In(range(BLOCK_ROWS // config.rows)),
                "column_group": In(range(COLUMNS // config.cols)),
                "src_a": In(2 * BLOCK_ROWS * SrcRow.size),
                "src_b": In(BLOCK_ROWS * SrcRow.size),
                "words": Out(config.cols * COLUMNS * SRC.width if config.pools else 0),
                "a": Out(config.cols * LANES_BITS),
                "b": Out(data.ArrayLayout(LANES_BITS, config.rows)),
                "element_a": Out(elements),
                "element_b": Out(elements),
                "written": Out(BLOCK_ROWS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        a = self._read_a(m, platform)
        instruction = self.instruction
        keeps, keeps_zeros = Signal(), Signal()
        m.d.comb += [
            keeps.eq(is_element_wise(instruction) & instruction.keep_src_b_denormals),
            keeps_zeros.eq(config.numerics.zero_flag_disabled | keeps & (instruction.opcode == Opcode.ELWMUL)),
        ]
        m.d.comb += self.a.eq(Cat(a[k][column] for column in range(config.cols) for k in range(COLUMNS)))
        for row in range(config.rows):
            b = self._read_b_row(m, platform, row, keeps, keeps_zeros)
            element_b = Signal(config.cols * OPERAND_BITS, name=f"element_b_{row}")
            m.d.comb += [
                self.b[row].eq(Cat(b)),
                element_b.eq(
                    Mux(
                        instruction.broadcast_column,
                        b[0].replicate(config.cols),
                        Cat(chosen(b[column :: config.cols], self.column_group) for column in range(config.cols)),
                    )
                ),
                self.element_a[row].eq(
                    chosen([Cat(a[k]) for k in range(row, len(a), config.rows)], self._element_row())
                ),
                self.element_b[row].eq(element_b),
            ]
            with m.If(instruction.opcode == Opcode.ELWSUB):
                signs = sum(1 << OPERAND_BITS * (column + 1) - 1 for column in range(config.cols))
                m.d.comb += self.element_b[row].eq(element_b ^ signs)
        self._written(m)
        return m

    def _element_row(self) -> Value:
        """Return the index of the ``rows`` of 16 that an element-wise operation uses; its block may be the upper one."""
        upper = Const(0, 1) if self.config.any_src_a_block else self.instruction.src_a_row[3]
        return Cat(self.row_group, upper)

    def _read_a(self, m: Module, platform: Any) -> list[list[Value]]:
        """Return the SrcA operands of the pass's columns, [16][cols]."""
        config, instruction = self.config, self.instruction
        narrow = Signal(name="narrow_a")
        m.d.comb += narrow.eq(is_narrow(config.numerics, instruction.style, instruction.src_a_format))
        operands, every = [], []
        for k in range(2 * BLOCK_ROWS):
            row = self.src_a.word_select(k, SrcRow.size)
            words = [row.word_select(column, SRC.width) for column in range(COLUMNS)]
            selected = [chosen(words[column :: config.cols], self.column_group) for column in range(config.cols)]
            reads = [
                instantiate(m, platform, f"read_a_{k}_{c}", ReadSource, config.numerics) for c in range(config.cols)
            ]
            operands.append([self._read(m, *each, narrow) for each in zip(reads, selected, strict=True)])
            every.append(selected)
        if config.pools:
            m.d.comb += self.words.eq(Cat(each[column] for column in range(config.cols) for each in every))
        return operands

    def _read_b_row(self, m: Module, platform: Any, row: int, keeps: Value, keeps_zeros: Value) -> list[Value]:
        """Return the SrcB operands of one row of cells, [16], which may keep data of exponent 0."""
        config, instruction = self.config, self.instruction
        narrow = Signal(name=f"narrow_b_{row}")
        block_row = Signal(range(BLOCK_ROWS), name=f"block_row_{row}")
        source_row = Signal(range(BLOCK_ROWS), name=f"source_row_{row}")
        empty = Signal(name=f"empty_{row}")
        m.d.comb += [
            narrow.eq(is_narrow(config.numerics, instruction.style, instruction.src_b_format)),
            block_row.eq(self.row_group * config.rows + row),
            source_row.eq(Mux(instruction.opcode == Opcode.GAPOOL, block_row % POOL_ROWS, block_row)),
        ]
        with m.If(self._broadcasts()):
            m.d.comb += [
                source_row.eq(instruction.src_b_row[:3]),
                empty.eq(block_row[0] != instruction.dst_row[0]),
            ]
        with m.Elif(is_element_wise(instruction) & instruction.broadcast_row):
            m.d.comb += source_row.eq(instruction.src_b_row[:3])
        words = Signal(SrcRow.size, name=f"words_{row}")
        options = [self.src_b.word_select(k, SrcRow.size) for k in range(BLOCK_ROWS)]
        m.d.comb += words.eq(Mux(empty, 0, chosen(options, source_row)))
        operands = []
        for k in range(COLUMNS):
            name = f"read_b_{row}_{k}"
            read = instantiate(m, platform, name, ReadSource, config.numerics, is_src_b=True)
            m.d.comb += [read.keep_denormals.eq(keeps), read.keep_zeros.eq(keeps_zeros)]
            operands.append(self._read(m, read, words.word_select(k, SRC.width), narrow))
        return operands

    def _read(self, m: Module, read: ReadSource, word: Value, narrow: Value) -> Value:
        m.d.comb += [read.word.eq(word), read.style.eq(self.instruction.style), read.narrow.eq(narrow)]
        return read.o.as_value()

    def _broadcasts(self) -> Value:
        return (self.instruction.opcode == Opcode.MVMUL) & self.instruction.broadcast_row

    def _written(self, m: Module) -> None:
        instruction = self.instruction
        base = instruction.dst_row[0]
        for row in range(BLOCK_ROWS):
            with m.If(self._broadcasts()):
                between = Mux(base, 1 < row < BLOCK_ROWS, 0 < row < BLOCK_ROWS - 1)
                all_between = between & self.config.numerics.row_broadcast_writes_all
                m.d.comb += self.written[row].eq((base == row % 2) | all_between)
            with m.Elif((instruction.opcode == Opcode.GAPOOL) | (instruction.opcode == Opcode.GMPOOL)):
                m.d.comb += self.written[row].eq(instruction.dst_row[2] == row // POOL_ROWS)
            with m.Else():
                m.d.comb += self.written[row].eq(1)
