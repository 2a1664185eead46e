"""Layouts of the operands and rows that the Tensix units exchange.

Words are logical: sign, exponent, fraction. Format codes are those of the hardware, ``Format`` of golden's declarations.
"""

from dataclasses import dataclass, field

from amaranth.lib import data, enum

from bitpath.golden.tensix.declarations.formats import COLUMNS, DST32, SRC, Style
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, TensixNumerics
from bitpath.rtl.common.config import PipelineConfig

# Configurations of the fidelity multiplier and the dot product.


@dataclass(frozen=True, kw_only=True)
class MultiplierConfig:
    """Configuration of the 7x5-bit multiplier, which has no parameters."""


@dataclass(frozen=True, kw_only=True)
class Dot16Config:
    """Configuration of the 16-term dot product.

    Attributes
    ----------
    numerics : arithmetic of the Matrix unit.
    pipeline : number of pipeline stages, 0 to 4.
    """

    numerics: TensixNumerics = WORMHOLE.numerics
    pipeline: PipelineConfig = field(default_factory=PipelineConfig)


FORMAT_BITS = 4
"""Width of a format code."""


class StyleCode(enum.Enum, shape=2):
    """Style in which the Matrix unit reads SrcA and SrcB."""

    BF16 = 0
    FP16 = 1
    TF32 = 2
    INT8 = 3

    @classmethod
    def of(cls, style: Style) -> "StyleCode":
        """Return the code of a style."""
        return cls[style.name]


class Operand(data.Struct):
    """A source datum as the dot product takes it::

                 magnitude, 11 bits               exponent, 8 bits                 sign
    float        1 and 10 fraction bits           biased; FP16: low 5 bits         1 bit
    zero         0                                0                                1 bit
    integer      0 and 10 magnitude bits          0                                1 bit
    """

    magnitude: 11
    exponent: 8
    sign: 1


class DotControl(data.Struct):
    """Operation of a dot product: style, width of Dst, fidelity phase, and ``add`` for the sum of lane 0's operands."""

    style: StyleCode
    dst32: 1
    phase: 2
    add: 1


SrcRow = data.ArrayLayout(SRC.width, COLUMNS)
"""One row of SrcA or SrcB."""
DstRow = data.ArrayLayout(DST32.width, COLUMNS)
"""One row of Dst; a 16-bit word is in the low half."""
