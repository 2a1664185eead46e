"""What travels between the Tensix units.

Words are logical: sign, exponent, fraction. Formats are the hardware's codes, ``golden.spec.tensix.Format``.
"""

from amaranth.lib import data, enum

from bitpath.golden.tensix.declarations.formats import COLUMNS, DST32, SRC, Style

FORMAT_BITS = 4
"""Of a format's code."""


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


SrcRow = data.ArrayLayout(SRC.width, COLUMNS)
"""A row of SrcA or SrcB."""
DstRow = data.ArrayLayout(DST32.width, COLUMNS)
"""A row of Dst; a 16-bit word stands in the low half."""
