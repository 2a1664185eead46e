"""Layouts of the requests to the unpacker."""

from amaranth.lib import data

from bitpath.golden.tensix.declarations.formats import COLUMNS, DST32
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS, DstRow

ROW_BITS = COLUMNS * DST32.width
"""Bits of a row of 16 datums in L1, at 32 bits each."""
EXPONENT_BITS = 8
"""Width of the exponent that a block of 16 datums shares in L1."""


class UnpackControl(data.Struct):
    """Formats of a conversion, a pair of ``golden.tensix.convert.unpack.CONVERSIONS``; ``unsigned`` applies to INT8 in L1."""

    l1_format: FORMAT_BITS
    register_format: FORMAT_BITS
    unsigned: 1


def unpack_request_layout(rows: int) -> data.StructLayout:
    """Return the layout of 64 bytes of L1, the first datum in the lowest bits, and one exponent a row for block formats.

    They hold up to ``rows`` rows of 16 datums: one of 32 bits, two of 16, four of 8, eight of 4 or 2.
    """
    return data.StructLayout(
        {"datums": ROW_BITS, "exponents": data.ArrayLayout(EXPONENT_BITS, rows), "control": UnpackControl}
    )


def unpacked_layout(rows: int) -> data.ArrayLayout:
    """Return the layout of unpacked rows."""
    return data.ArrayLayout(DstRow, rows)
