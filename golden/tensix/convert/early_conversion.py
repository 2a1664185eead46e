"""The packers' first conversion: Dst words to the intermediate format.

Ref: tt-isa-documentation 3930471, Packers/FormatConversion; ttsim v1.10.0. Floats with 8 exponent bits are carried as
FP32 words and those with 5 as FP16 words, whose unused low fraction bits are 0; integers as sign and magnitude.
"""

import numpy as np

from bitpath.golden.arrays.rounding import shift_round
from bitpath.golden.tensix.declarations.formats import EXPONENT5_FORMATS, Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics

INTEGERS = (Format.INT32, Format.INT16, Format.INT8)

EARLY_FORMATS = {
    (True, False): (Format.FP32, Format.TF32, Format.BF16, Format.BFP8, Format.INT32, Format.INT8),
    (True, True): (Format.FP32, Format.BF16, Format.INT32, Format.INT8),
    (False, False): (Format.BF16, Format.TF32, Format.BFP8, Format.FP16, Format.BFP8A, Format.INT16),
    (False, True): (Format.BF16, Format.FP16, Format.BFP8A, Format.FP8, Format.INT16),
}
"""Intermediate formats by whether Dst words have 32 bits, and whether the conversion is raw."""

_KEPT_FRACTION_BITS = {
    Format.FP32: 23,
    Format.TF32: 10,
    Format.BF16: 7,
    Format.BFP8: 6,
    Format.FP16: 10,
    Format.BFP8A: 6,
    Format.FP8: 2,
}
RAW_BFP8A_FRACTION_BITS = 7


def kept_fraction_bits(mid_format: Format, *, raw: bool) -> int:
    """Return the fraction bits of a float intermediate format."""
    return RAW_BFP8A_FRACTION_BITS if raw and mid_format is Format.BFP8A else _KEPT_FRACTION_BITS[mid_format]


def convert_early(
    numerics: TensixNumerics,
    words: np.ndarray,
    mid_format: Format,
    *,
    dst32: bool,
    unsigned: bool,
    raw: bool,
    descale_shift: int,
) -> np.ndarray:
    """Convert int64 Dst words to int64 intermediate values; arguments are `pack`'s, checked."""
    if mid_format is Format.INT8:
        return _int8(numerics, words, unsigned=unsigned, raw=raw, shift=descale_shift)
    if mid_format in INTEGERS or (dst32 and mid_format is Format.FP32):
        return words
    if mid_format in EXPONENT5_FORMATS:
        kept = kept_fraction_bits(mid_format, raw=raw)
        return words >> 10 - kept << 10 - kept if raw else _round_fp16(numerics, words, 10 - kept)
    dropped = 23 - _KEPT_FRACTION_BITS[mid_format]
    wide = words if dst32 else words << 16
    return wide >> dropped << dropped if raw else _round_fp32(numerics, wide, dropped, flush_first=not dst32)


def _round_fp32(numerics: TensixNumerics, words: np.ndarray, dropped: int, *, flush_first: bool) -> np.ndarray:
    """Round the fraction, with NaN to infinity and denormals to +0; `flush_first` flushes before rounding too."""
    magnitude = words & 0x7FFFFFFF
    rounded = shift_round(np.minimum(magnitude, 0x7F800000), dropped, numerics.final_tie) << dropped
    zero = rounded >> 23 == 0
    if flush_first:
        zero |= magnitude >> 23 == 0
    return np.where(zero, 0, words >> 31 << 31 | rounded)


def _round_fp16(numerics: TensixNumerics, words: np.ndarray, dropped: int) -> np.ndarray:
    """Round the fraction, with overflow saturated and numbers that stay denormal flushed to +0."""
    magnitude = words & 0x7FFF
    rounded = shift_round(magnitude, dropped, numerics.final_tie) << dropped
    largest = 0x7FFF >> dropped << dropped
    return np.where(rounded >> 10 == 0, 0, words >> 15 << 15 | np.minimum(rounded, largest))


def _int8(numerics: TensixNumerics, words: np.ndarray, *, unsigned: bool, raw: bool, shift: int) -> np.ndarray:
    """Shift, round and clamp sign-magnitude integers to 8 bits, or take their low bits; the sign of a zero stays."""
    sign, magnitude = words >> 31, words & 0x7FFFFFFF
    if raw:
        return magnitude & 0xFF if unsigned else sign << 7 | magnitude & 0x7F
    magnitude = shift_round(magnitude, shift, numerics.final_tie)
    if unsigned:
        return np.where(sign == 1, 0, np.minimum(magnitude, 0xFF))
    return sign << 7 | np.minimum(magnitude, 0x7F)
