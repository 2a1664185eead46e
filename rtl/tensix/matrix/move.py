"""Instructions that move rows between SrcA, SrcB and Dst, clear banks of the sources, or change the owners of banks.

Ref: tt-isa-documentation 3930471, MOVA2D, MOVB2D, MOVD2A, MOVD2B, TRNSPSRCB, ZEROSRC, CLEARDVALID, SETDVALID; ttsim v1.10.0 for
MOVB2A and UNPACR_NOP.
"""

from amaranth.lib import data, enum

from bitpath.rtl.tensix.matrix.instruction import DST_ROW_BITS, SRC_ROW_BITS
from bitpath.rtl.tensix.matrix.source_to_dst import PlaceControl

SIDES = 2
"""SrcA and SrcB, bits 0 and 1 of a mask of sources."""


class MoveKind(enum.Enum, shape=3):
    """Kinds of moves; BANKS clears banks or changes their owners."""

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
