"""Layouts of GMPOOL: its control, a datum as it is compared, request and result of one column."""

from dataclasses import dataclass, field

from amaranth import Value
from amaranth.lib import data

from bitpath.golden.tensix.declarations.formats import COLUMNS, DST32, SRC
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, TensixNumerics
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.tensix.dot.layouts import StyleCode

# Configuration of GMPOOL.


@dataclass(frozen=True, kw_only=True)
class GmpoolColumnConfig:
    """Configuration of one column of GMPOOL.

    Attributes
    ----------
    numerics : ``gmpool_fp16`` alone.
    pipeline : number of pipeline stages, 0 to 4.
    """

    numerics: TensixNumerics = WORMHOLE.numerics
    pipeline: PipelineConfig = field(default_factory=PipelineConfig)


POOL_ROWS = 4
"""Rows of Dst that GMPOOL and GAPOOL write."""
FRACTION_BITS = 10
SCALE_BITS = 8
"""Width of the exponent that SrcB scales with."""
EXPONENT_BITS = SCALE_BITS + 1
"""A datum's exponent is the sum of SrcA's and SrcB's, at most 510; 511 is below every datum."""
MAGNITUDE_BITS = EXPONENT_BITS + FRACTION_BITS


class PoolControl(data.Struct):
    """Operation of GMPOOL: style, width of Dst, and ``argmax``, which needs a 32-bit Dst."""

    style: StyleCode
    dst32: 1
    argmax: 1


class Datum(data.Struct):
    """A number so encoded that unsigned comparison of ``order`` compares numbers::

        order bit     19       18 ........ 10   9 ........ 0
        not negative   1       exponent         fraction        float: the sum of two biased exponents
                       1       magnitude                        integer
        negative       0       all bits of exponent and fraction, or of the magnitude, inverted

    A zero is not negative; ``sign`` keeps the sign of an integer's zero.
    """

    order: MAGNITUDE_BITS + 1
    sign: 1


PoolWords = data.ArrayLayout(DST32.width, POOL_ROWS)
"""One column of the Dst rows; a 16-bit word is in the low half."""


def pool_request() -> data.StructLayout:
    """Return the operands of one column: 16 SrcA words, the exponents of the SrcB row, four words of Dst."""
    return data.StructLayout(
        {
            "rows": data.ArrayLayout(SRC.width, COLUMNS),
            "scales": data.ArrayLayout(SCALE_BITS, COLUMNS),
            "dst": PoolWords,
            "control": PoolControl,
        }
    )


def reads_integers(control: data.View) -> Value:
    """Return 1 if Dst's words are integers: INT8, and TF32 with ``argmax``."""
    return (control.style == StyleCode.INT8) | control.argmax & (control.style == StyleCode.TF32)


def reads_halves(control: data.View) -> Value:
    """Return 1 if Dst's words are BF16 or FP16 numbers of 16 bits, which ``argmax`` keeps in a word's upper half."""
    return ~reads_integers(control) & (~control.dst32 | control.argmax)
