"""What travels between the Tensix units.

Words are logical: sign, exponent, fraction. Formats are the hardware's codes, ``golden.spec.tensix.Format``.
"""

from amaranth.lib import data, enum

from bitpath.golden.spec.tensix import COLUMNS, DST32, SRC, Style

FORMAT_BITS = 4
"""Of a format's code."""
ROW_BITS = COLUMNS * DST32.width
"""Of a row of 16 datums in L1, at their widest."""
EXPONENT_BITS = 8
"""Of the exponent that a block of 16 shares in L1."""
DESCALE_SHIFT_BITS = 5
"""Of the packer's shift from INT32 to INT8; a magnitude has 31 bits."""


class StyleCode(enum.Enum, shape=2):
    """How the Matrix unit reads SrcA and SrcB."""

    BF16 = 0
    FP16 = 1
    TF32 = 2
    INT8 = 3

    @classmethod
    def of(cls, style: Style) -> "StyleCode":
        """The code of a style."""
        return cls[style.name]


class Operand(data.Struct):
    """A source datum as the dot product takes it.

    A float has its hidden bit at the top of ``magnitude``, 10 fraction bits below it, and its biased exponent (FP16's
    in the low 5 bits); a zero has magnitude 0 and exponent 0, so that the top bit tells zero from all else. An integer
    has a magnitude of 10 bits and exponent 0.
    """

    magnitude: 11
    exponent: 8
    sign: 1


class DotControl(data.Struct):
    """What a dot product computes; ``add`` makes it the sum of lane 0's two operands instead of the products."""

    style: StyleCode
    dst32: 1
    phase: 2
    add: 1


class UnpackControl(data.Struct):
    """A pair of ``golden.tensix.unpack.CONVERSIONS``; ``unsigned`` is about INT8 in L1."""

    l1_format: FORMAT_BITS
    register_format: FORMAT_BITS
    unsigned: 1


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


SrcRow = data.ArrayLayout(SRC.width, COLUMNS)
"""A row of SrcA or SrcB."""
DstRow = data.ArrayLayout(DST32.width, COLUMNS)
"""A row of Dst; a 16-bit word stands in the low half."""


class UnpackRequest(data.Struct):
    """A row of 16 datums in L1, the first in the lowest bits, and their block's exponent where they have one."""

    datums: ROW_BITS
    exponent: EXPONENT_BITS
    control: UnpackControl


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
