"""Requests to the packer and its results."""

from amaranth.lib import data

from bitpath.golden.tensix.declarations.formats import COLUMNS
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS, DstRow
from bitpath.rtl.tensix.unpack.layouts import EXPONENT_BITS, ROW_BITS

DESCALE_SHIFT_BITS = 5
"""Of the packer's shift from INT32 to INT8; a magnitude has 31 bits."""


class PackControl(data.Struct):
    """Arguments of ``golden.tensix.pack``; ``accumulate`` adds to what L1 held.

    All that is 0 is off. ``edge_minus_infinity`` is what a row's masked floats become, else +0; ``exponent_threshold``
    makes floats of a smaller exponent +0, and is 0 for integers; ``descale_shift`` is about INT32 to INT8 without
    ``raw``; ``round_10b`` makes the intermediate format FP32, or BF16 on the way to FP16, TF32, but with ``raw``.
    """

    mid_format: FORMAT_BITS
    out_format: FORMAT_BITS
    dst32: 1
    raw: 1
    unsigned: 1
    relu: 2
    relu_threshold: 16
    accumulate: 1
    edge_minus_infinity: 1
    exponent_threshold: EXPONENT_BITS
    descale_shift: DESCALE_SHIFT_BITS
    round_10b: 1


class PackRequest(data.Struct):
    """A row of Dst, and what L1 holds where it will go (read with ``accumulate`` only).

    A bit of ``masked`` has the edge mask replace the datum of its column, the first in bit 0.
    """

    row: DstRow
    old: ROW_BITS
    masked: COLUMNS
    control: PackControl


class PackedRow(data.Struct):
    """A row of 16 datums for L1, the first in the lowest bits, zeros above the last; ``exponent`` is a block's, else 0."""

    datums: ROW_BITS
    exponent: EXPONENT_BITS
