"""Layouts of the requests to the unpacker."""

from amaranth.lib import data

from bitpath.golden.tensix.declarations.formats import COLUMNS, DST32
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS

ROW_BITS = COLUMNS * DST32.width
"""Bits of a row of 16 datums in L1, at 32 bits each."""
EXPONENT_BITS = 8
"""Width of the exponent that a block of 16 datums shares in L1."""


class UnpackControl(data.Struct):
    """Formats of a conversion, a pair of ``golden.tensix.convert.unpack.CONVERSIONS``; ``unsigned`` applies to INT8 in L1."""

    l1_format: FORMAT_BITS
    register_format: FORMAT_BITS
    unsigned: 1


class UnpackRequest(data.Struct):
    """A row of 16 datums in L1, the first in the lowest bits, and the exponent of their block for block formats."""

    datums: ROW_BITS
    exponent: EXPONENT_BITS
    control: UnpackControl
