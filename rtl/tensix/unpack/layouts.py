"""Requests to the unpacker."""

from amaranth.lib import data

from bitpath.golden.tensix.declarations.formats import COLUMNS, DST32
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS

ROW_BITS = COLUMNS * DST32.width
"""Of a row of 16 datums in L1, at their widest."""
EXPONENT_BITS = 8
"""Of the exponent that a block of 16 shares in L1."""


class UnpackControl(data.Struct):
    """A pair of ``golden.tensix.unpack.CONVERSIONS``; ``unsigned`` is about INT8 in L1."""

    l1_format: FORMAT_BITS
    register_format: FORMAT_BITS
    unsigned: 1


class UnpackRequest(data.Struct):
    """A row of 16 datums in L1, the first in the lowest bits, and their block's exponent where they have one."""

    datums: ROW_BITS
    exponent: EXPONENT_BITS
    control: UnpackControl
