"""SrcA and SrcB as the Matrix unit reads them: sign, exponent, significand, and the fields of each fidelity phase."""

from dataclasses import dataclass

import numpy as np

from bitpath.golden.tensix.declarations.formats import EXPONENT5_FORMATS, Format, Style
from bitpath.golden.tensix.declarations.numerics import Masking, TensixNumerics

ZERO_EXPONENT = -4096
"""Exponent of a zero operand; its sum with any other is below every real product's exponent."""
ANY_ZERO = ZERO_EXPONENT // 2
"""Sums of exponents below this have a zero operand; all others stay above -1024."""


@dataclass(frozen=True, eq=False)
class Sources:
    """Source datums, each int32 of one shape.

    Attributes
    ----------
    sign : +1 or -1.
    exponent : biased; `ZERO_EXPONENT` for a zero.
    significand : 11 bits with the hidden one.
    """

    sign: np.ndarray
    exponent: np.ndarray
    significand: np.ndarray


def read_sources(numerics: TensixNumerics, words: np.ndarray, style: Style, source_format: Format) -> Sources:
    """Take logical 19-bit words apart, masked as their format or the style asks."""
    words = words.astype(np.int32)
    exponent = words >> 10 & exponent_mask(style)
    fraction = words & fraction_mask(numerics, style, source_format)
    return Sources(
        sign=1 - (words >> 18 << 1),
        exponent=np.where(exponent == 0, ZERO_EXPONENT, exponent),
        significand=fraction | 1 << 10,
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


def field_a(significand: np.ndarray, phase: int) -> np.ndarray:
    """Return the 5 bits of SrcA's significands that a fidelity phase multiplies."""
    return significand >> 1 & 0x1F if phase & 1 else significand >> 6


def field_b(significand: np.ndarray, phase: int) -> np.ndarray:
    """Return the 7 bits of SrcB's significands that a fidelity phase multiplies."""
    return (significand & 0xF) << 3 if phase & 2 else significand >> 4


def exponent_offset(style: Style, dst32: bool, phase: int) -> int:
    """Return the offset added to two biased exponents: the rebias to Dst's format, less the phase's weight."""
    rebias = -127 if style is not Style.FP16 else 97 if dst32 else -15
    return rebias - (5 if phase & 1 else 0) - (7 if phase & 2 else 0)


def read_integers(numerics: TensixNumerics, words: np.ndarray) -> np.ndarray:
    """Return logical integer words as signed magnitudes of 10 bits, int64."""
    words = words.astype(np.int64)
    magnitude = words & 0x3FF
    if numerics.int8_zero_exponent_flush:
        magnitude = np.where(words >> 10 & 0xFF == 0, 0, magnitude)
    return np.where(words >> 18 == 1, -magnitude, magnitude)


def integer_mask_a(phase: int) -> int:
    """Return the bits of SrcA's integer magnitudes that a phase multiplies: 4..0 or 7..5."""
    return 0x1F if phase & 1 else 0xE0


def integer_mask_b(phase: int) -> int:
    """Return the bits of SrcB's integer magnitudes that a phase multiplies: 3..0 or 9..4."""
    return 0xF if phase & 2 else 0x3F0


def integer_field_a(values: np.ndarray, phase: int) -> np.ndarray:
    """Return SrcA's integers reduced to the bits that a phase multiplies, in place."""
    return np.sign(values) * (np.abs(values) & integer_mask_a(phase))


def integer_field_b(values: np.ndarray, phase: int) -> np.ndarray:
    """Return SrcB's integers reduced to the bits that a phase multiplies, in place."""
    return np.sign(values) * (np.abs(values) & integer_mask_b(phase))
