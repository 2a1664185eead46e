"""How the Matrix unit reads SrcA and SrcB: masks and shifts of exponents, fractions, and the fields of each fidelity phase.

Ref: tt-isa-documentation 3930471, SrcASrcB; ttsim v1.10.0 for the exponents of zeros.
"""

from typing import NamedTuple

from bitpath.golden.tensix.declarations.formats import EXPONENT5_FORMATS, Format, Style
from bitpath.golden.tensix.declarations.numerics import Masking, TensixNumerics

ZERO_FRACTIONS = 2
"""`SourceFields.b_zeros` of a sum that keeps denormals."""


class SourceFields(NamedTuple):
    """How both sources are taken apart.

    Attributes
    ----------
    offset : added to two biased exponents.
    zero_exponent : exponent of a product of a zero operand.
    exponent_mask : mask of the exponents, shifted down.
    a_mask, a_right : fraction bits of SrcA that are kept, and the shift that leaves the phase's 5 bits lowest.
    b_mask, b_right, b_field, b_left : the same of SrcB, then the mask of the phase's bits and the shift up to their weight.
    b_zeros : 1 if exponent 0 makes SrcB's datum zero, as it does SrcA's; 0 with the zero flag disabled; `ZERO_FRACTIONS` if
        the fraction must be 0 too.
    """

    offset: int
    zero_exponent: int
    exponent_mask: int
    a_mask: int
    a_right: int
    b_mask: int
    b_right: int
    b_field: int
    b_left: int
    b_zeros: int


def source_fields(
    numerics: TensixNumerics, style: Style, dst32: bool, phase: int, formats: tuple[Format, Format]
) -> SourceFields:
    """Return how a fidelity phase takes apart the words of SrcA and SrcB, whose formats are given in this order."""
    offset = exponent_offset(style, dst32, phase)
    return SourceFields(
        offset=offset,
        zero_exponent=max(offset, 0) if numerics.zero_terms_keep_bias else 0,
        exponent_mask=exponent_mask(style),
        a_mask=fraction_mask(numerics, style, formats[0]),
        a_right=1 if phase & 1 else 6,
        b_mask=fraction_mask(numerics, style, formats[1]),
        b_right=0 if phase & 2 else 4,
        b_field=0xF if phase & 2 else 0x7F,
        b_left=3 if phase & 2 else 0,
        b_zeros=int(not numerics.zero_flag_disabled),
    )


def exponent_mask(style: Style) -> int:
    """Return the exponent bits of a source, shifted down."""
    return 0x1F if style is Style.FP16 else 0xFF


def fraction_mask(numerics: TensixNumerics, style: Style, source_format: Format) -> int:
    """Return the fraction bits of a source that its format or the style leaves."""
    if numerics.masking is Masking.SRCA_STYLE:
        narrow = style is Style.BF16
    else:
        narrow = source_format is not Format.TF32 and source_format not in EXPONENT5_FORMATS
    return 0x3F8 if narrow else 0x3FF


def exponent_offset(style: Style, dst32: bool, phase: int) -> int:
    """Return the offset added to two biased exponents: the rebias to Dst's format, less the phase's weight."""
    rebias = -127 if style is not Style.FP16 else 97 if dst32 else -15
    return rebias - (5 if phase & 1 else 0) - (7 if phase & 2 else 0)


def integer_flushes(numerics: TensixNumerics) -> tuple[bool, bool]:
    """Return whether exponent 0 makes an integer of SrcB and one of SrcA zero."""
    flush = numerics.int8_zero_exponent_flush
    return flush and not numerics.zero_flag_disabled, flush


def integer_mask_a(phase: int) -> int:
    """Return the bits of SrcA's integer magnitudes that a phase multiplies: 4..0 or 7..5."""
    return 0x1F if phase & 1 else 0xE0


def integer_mask_b(phase: int) -> int:
    """Return the bits of SrcB's integer magnitudes that a phase multiplies: 3..0 or 9..4."""
    return 0xF if phase & 2 else 0x3F0
