"""The Matrix unit's instructions. Ref: tt-isa-documentation 3930471, MVMUL, DOTPV, GAPOOL, ELWMUL, ELWADD, ZEROACC."""

from amaranth.lib import data, enum

from bitpath.golden.tensix.declarations.formats import DST16_ROWS, SRC_ROWS
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS, StyleCode

DST_ROW_BITS = (DST16_ROWS - 1).bit_length()
SRC_ROW_BITS = (SRC_ROWS - 1).bit_length()


class Opcode(enum.Enum, shape=3):
    """What an instruction does."""

    MVMUL = 0
    DOTPV = 1
    GAPOOL = 2
    ELWMUL = 3
    ELWADD = 4
    ELWSUB = 5
    ZEROACC = 6


class Instruction(data.Struct):
    """One instruction.

    ``src_b_row`` is a multiple of 8 but for a row broadcast, ``src_a_row`` one of the numerics' step (of 8 for
    element-wise operations). ``dst_row`` counts 16- or 32-bit rows as ``dst32`` says; it is a multiple of 8, for GAPOOL
    of 4, and for a row broadcast its lowest bit is free.

    ``broadcast_row`` makes MVMUL add the SrcB row ``src_b_row`` times SrcA to Dst rows 0, 2, 4 and 6 from ``dst_row`` on.
    ``accumulate`` is read by ELWADD and ELWSUB alone. ZEROACC leaves the 16 rows that hold ``dst_row`` undefined, which
    reads as 0, with ``clear_all`` all of Dst; it neither waits for the sources nor releases them. ``release_a`` and
    ``release_b`` give a source's bank back to its unpacker.
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
    accumulate: 1
    clear_all: 1
    release_a: 1
    release_b: 1
