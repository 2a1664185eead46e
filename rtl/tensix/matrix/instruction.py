"""Instruction set of the Matrix unit.

Ref: tt-isa-documentation 3930471, MVMUL, DOTPV, GAPOOL, GMPOOL, ELWMUL, ELWADD, ZEROACC.
"""

from dataclasses import dataclass

from amaranth import Value
from amaranth.lib import data, enum

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, DST16_ROWS, SRC_ROWS
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, TensixNumerics
from bitpath.rtl.common.config import UnitConfig, power_of_two
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS, StyleCode

# Configuration of the Matrix unit.


@dataclass(frozen=True, kw_only=True)
class MatrixUnitConfig(UnitConfig, unit="matrix_unit"):
    """Configuration of the Matrix unit; SrcA, SrcB and Dst always have the size of the machine.

    Attributes
    ----------
    rows, cols : grid of dot products; powers of two up to 8 and 16. An instruction takes ``8 * 16 / (rows * cols)`` cycles.
    numerics : arithmetic of the dot products.
    pools : False leaves the columns of GMPOOL out, for an engine that never issues it.
    """

    rows: int = power_of_two(1, BLOCK_ROWS, 2)
    cols: int = power_of_two(1, COLUMNS, 4)
    numerics: TensixNumerics = WORMHOLE.numerics
    pools: bool = True

    @property
    def any_src_a_block(self) -> bool:
        """True if an instruction's SrcA rows may start at any 8-row block, False if at every second one."""
        return self.numerics.src_a_row_step == BLOCK_ROWS

    @property
    def passes(self) -> int:
        """Number of cycles for which an instruction occupies the unit."""
        return BLOCK_ROWS // self.rows * (COLUMNS // self.cols)


@dataclass(frozen=True, kw_only=True)
class MoverConfig:
    """Configuration of the mover and its conversions.

    Attributes
    ----------
    numerics : which source words moves flush, and which bits they mask.
    """

    numerics: TensixNumerics = WORMHOLE.numerics


DST_ROW_BITS = (DST16_ROWS - 1).bit_length()
SRC_ROW_BITS = (SRC_ROWS - 1).bit_length()


class Opcode(enum.Enum, shape=3):
    """Operation of a Matrix unit instruction."""

    MVMUL = 0
    DOTPV = 1
    GAPOOL = 2
    ELWMUL = 3
    ELWADD = 4
    ELWSUB = 5
    ZEROACC = 6
    GMPOOL = 7


class Zeroed(enum.Enum, shape=2):
    """Rows that a ZEROACC makes undefined: its mode."""

    ROW = 0
    SIXTEEN = 1
    HALF = 2
    ALL = 3


class Instruction(data.Struct):
    """An instruction of the Matrix unit: operation, formats, rows and the release of its sources.

    - ``src_b_row`` must be a multiple of 8, except with ``broadcast_row``.
    - ``src_a_row`` must be a multiple of ``numerics.src_a_row_step``; of 8 for element-wise operations, of 16 for GMPOOL.
    - ``dst_row`` counts 16-bit or 32-bit rows, as ``dst32`` selects. It must be a multiple of 8, of 4 for GAPOOL and GMPOOL; for
      a row broadcast bit 0 is free.
    - ``broadcast_row``: MVMUL adds the SrcB row ``src_b_row`` times SrcA to Dst rows 0, 2, 4 and 6 from ``dst_row`` on.
      In element-wise operations that row stands for all eight.
    - ``broadcast_column``: element-wise operations take column 0 of SrcB for all columns.
    - ``keep_src_b_denormals``: in element-wise operations a SrcB float of exponent 0 is 1.fraction at this exponent, in ELWADD
      and ELWSUB only with a fraction that is not 0, and an integer its magnitude. The field Zero_Flag_disabled_src.
    - ``accumulate`` applies to ELWADD and ELWSUB alone.
    - ``argmax`` applies to GMPOOL alone and needs ``dst32``; see `gmpool_column`.
    - ZEROACC makes rows undefined, which read as 0, in GMPOOL as all ones: by ``zeroed`` the 16-bit row ``dst_row``, the 16 rows
      that hold it, the half of Dst that holds it, or all. Of 32-bit rows it takes the upper halves' 16-bit rows; ``dst32`` applies
      to 16 rows alone and must else be 0. It neither waits for the sources nor releases or flips them.
    - ``release_a`` and ``release_b`` hand the bank of a source back to its unpacker; ``flip_a`` and ``flip_b`` go on to the
      other bank. A flip without a release holds the bank, as with CLR_DVALID disabled: the Matrix unit may flip back to it.
    """

    opcode: Opcode
    style: StyleCode
    dst32: 1
    phase: 2
    src_a_format: FORMAT_BITS
    src_b_format: FORMAT_BITS
    src_a_row: SRC_ROW_BITS
    src_b_row: SRC_ROW_BITS
    dst_row: DST_ROW_BITS
    broadcast_row: 1
    broadcast_column: 1
    keep_src_b_denormals: 1
    accumulate: 1
    argmax: 1
    zeroed: Zeroed
    release_a: 1
    release_b: 1
    flip_a: 1
    flip_b: 1


def is_element_wise(instruction: data.View) -> Value:
    """Return 1 for ELWMUL, ELWADD and ELWSUB."""
    opcode = instruction.opcode
    return (opcode == Opcode.ELWMUL) | (opcode == Opcode.ELWADD) | (opcode == Opcode.ELWSUB)
