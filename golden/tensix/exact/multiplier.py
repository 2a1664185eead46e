"""One product of the Tensix Matrix unit: the 7x5-bit multiplier and its fidelity phases.

Ref: tt-isa-documentation 3930471, SrcASrcB and ELWMUL; the field table is in both and in ttsim v1.10.0.
"""

from dataclasses import dataclass

from bitpath.golden.scalar.checked import checked
from bitpath.golden.tensix.declarations.formats import EXPONENT5_FORMATS, Format, Style
from bitpath.golden.tensix.declarations.numerics import Masking, TensixNumerics

PRODUCT_FRACTION_BITS = 10
"""Fraction bits of a product of two fields, a value below 4."""


@dataclass(frozen=True)
class Source:
    """A datum as the Matrix unit reads it: ``(-1)**sign * significand / 2**10 * 2**(exponent - bias)``, or zero.

    Attributes
    ----------
    sign : 0 or 1.
    exponent : the biased exponent.
    significand : 11 bits with the hidden one; 0 for a zero.
    """

    sign: int
    exponent: int
    significand: int

    @property
    def is_zero(self) -> bool:
        return self.significand == 0


@dataclass(frozen=True)
class Product:
    """A product of two fields: ``(-1)**sign * magnitude / 2**10 * 2**(exponent - bias of the result)``.

    Attributes
    ----------
    sign : 0 or 1; 0 for a product of a zero operand.
    field_a, field_b : the 5 bits taken of SrcA and the 7 bits taken of SrcB.
    magnitude : their product, 12 bits.
    exponent : signed; that of a product of a zero operand is by `TensixNumerics.zero_terms_keep_bias`.
    is_zero : an operand is zero.
    """

    sign: int
    field_a: int
    field_b: int
    magnitude: int
    exponent: int
    is_zero: bool


@dataclass(frozen=True)
class IntegerProduct:
    """A product of two integer fields, each with its weight.

    Attributes
    ----------
    field_a, field_b : the bits taken of SrcA's and SrcB's magnitudes, in place.
    value : their signed product.
    """

    field_a: int
    field_b: int
    value: int


@checked
def read_source(
    numerics: TensixNumerics, word: int, style: Style, source_format: Format, *, is_src_b: bool = False
) -> Source:
    """Take a logical 19-bit word apart, masked as its format or the style asks. Exponent 0 makes it zero, by the zero flag."""
    exponent, fraction = word >> 10 & 0xFF, word & 0x3FF
    if style is Style.FP16:
        exponent &= 0x1F
    elif masked_to_bf16(numerics, style, source_format):
        fraction &= ~0b111
    is_zero = exponent == 0 and not (is_src_b and numerics.zero_flag_disabled)
    return Source(word >> 18 & 1, exponent, 0 if is_zero else fraction | 1 << 10)


def masked_to_bf16(numerics: TensixNumerics, style: Style, source_format: Format) -> bool:
    """True if the three fraction bits that BF16 lacks are read as 0."""
    if numerics.masking is Masking.SRCA_STYLE:
        return style is Style.BF16
    return source_format is not Format.TF32 and source_format not in EXPONENT5_FORMATS


def rebias(style: Style, dst32: bool) -> int:
    """Return the offset that turns the sum of two biased exponents into an exponent with the bias of Dst."""
    if style is not Style.FP16:
        return -127
    return 127 - 2 * 15 if dst32 else -15


def phase_weight(phase: int) -> int:
    """Return w of a fidelity phase: its product has the weight 2**-w."""
    return (5 if phase & 1 else 0) + (7 if phase & 2 else 0)


@checked
def fields(a: Source, b: Source, phase: int) -> tuple[int, int]:
    """Return the 5 bits of SrcA's significand and the 7 bits of SrcB's that a fidelity phase multiplies.

    The lowest bit of SrcA's significand is in neither of its fields.
    """
    field_a = a.significand >> 1 & 0x1F if phase & 1 else a.significand >> 6
    field_b = (b.significand & 0xF) << 3 if phase & 2 else b.significand >> 4
    return field_a, field_b


@checked
def multiply(numerics: TensixNumerics, a: Source, b: Source, *, style: Style, dst32: bool, phase: int) -> Product:
    """Multiply two sources in one fidelity phase."""
    offset = rebias(style, dst32) - phase_weight(phase)
    if a.is_zero or b.is_zero:
        return Product(0, 0, 0, 0, max(offset, 0) if numerics.zero_terms_keep_bias else 0, True)
    field_a, field_b = fields(a, b, phase)
    return Product(a.sign ^ b.sign, field_a, field_b, field_a * field_b, a.exponent + b.exponent + offset, False)


def integer_datum(numerics: TensixNumerics, word: int, *, is_src_b: bool = False) -> tuple[int, int]:
    """Return sign and 10-bit magnitude of an integer datum in a logical 19-bit word."""
    flush = numerics.int8_zero_exponent_flush and not (is_src_b and numerics.zero_flag_disabled)
    if flush and word >> 10 & 0xFF == 0:
        return 0, 0
    return word >> 18 & 1, word & 0x3FF


@checked
def multiply_integer(numerics: TensixNumerics, a: int, b: int, phase: int) -> IntegerProduct:
    """Multiply the fields of two integer words in one fidelity phase, each with its weight."""
    (a_sign, a_magnitude), (b_sign, b_magnitude) = integer_datum(numerics, a), integer_datum(numerics, b, is_src_b=True)
    field_a = a_magnitude & 0x1F if phase & 1 else a_magnitude & 0xE0
    field_b = b_magnitude & 0xF if phase & 2 else b_magnitude & 0x3F0
    return IntegerProduct(field_a, field_b, (-1) ** (a_sign ^ b_sign) * field_a * field_b)
