"""Align sums with Dst, add, normalise and round: the last steps of every arithmetic instruction.

Ref: ttsim v1.10.0, steps 5 to 10 of the algorithm in `bitpath.golden.tensix.exact`.
"""

from collections.abc import Sequence

import numpy as np

from bitpath.golden.arrays.rounding import shift_round
from bitpath.golden.tensix.declarations.formats import Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics

SUM_FRACTION_BITS = 23
"""Fraction bits of the addends."""
NARROW_FRACTION_BITS = 10
"""The same after the rounding that a 16-bit Dst adds."""
LARGEST_SHIFT = 31
"""Every addend is below 2**30, so that nothing is left of it after this shift."""
INT32_MAX = (1 << 31) - 1


def dst_fields(style: Style, dst32: bool) -> tuple[int, int]:
    """Return exponent and fraction bits of a float Dst word."""
    if dst32:
        return 8, 23
    return (5, 10) if style is Style.FP16 else (8, 7)


def accumulate(
    numerics: TensixNumerics,
    dst: np.ndarray,
    sums: Sequence[tuple[np.ndarray, np.ndarray]],
    *,
    style: Style,
    dst32: bool,
) -> np.ndarray:
    """Add sums to float Dst words.

    Parameters
    ----------
    dst : uint32 words.
    sums : pairs of int64 significands in units of 2**-23, below 2**30, and int64 biased exponents, 0 at least.

    Returns
    -------
    uint32 words of the common shape.
    """
    exponent_bits, fraction_bits = dst_fields(style, dst32)
    words = dst.astype(np.int64)
    dst_exponent = words >> fraction_bits & (1 << exponent_bits) - 1
    magnitude = (words & (1 << fraction_bits) - 1 | 1 << fraction_bits) << SUM_FRACTION_BITS - fraction_bits
    negative = words >> exponent_bits + fraction_bits == 1
    significand = np.where(dst_exponent == 0, 0, np.where(negative, -magnitude, magnitude))

    exponent = dst_exponent
    for _, each in sums:
        exponent = np.maximum(exponent, each)
    narrow = not dst32 and numerics.pre_round
    total = np.zeros_like(exponent)
    terms = [(value, each, numerics.sum_tie) for value, each in sums]
    for value, each, tie in (*terms, (significand, dst_exponent, numerics.dst_tie)):
        addend = shift_round(value, np.minimum(exponent - each, LARGEST_SHIFT), tie)
        if narrow:
            addend = shift_round(addend, SUM_FRACTION_BITS - NARROW_FRACTION_BITS, tie)
        total += addend
    quirk = (total == -1) & (dst32 and numerics.minus_one_quirk)
    point = NARROW_FRACTION_BITS if narrow else SUM_FRACTION_BITS
    # The quirk: -1 unit becomes -1.0, four binades up.
    total = np.where(quirk, -1 << point, total)
    exponent = np.where(quirk, exponent + 4, exponent)
    return _encode(numerics, total, exponent, point, exponent_bits, fraction_bits)


def _encode(
    numerics: TensixNumerics,
    total: np.ndarray,
    exponent: np.ndarray,
    point: int,
    exponent_bits: int,
    fraction_bits: int,
) -> np.ndarray:
    """Normalise and round sums with `point` fraction bits at their biased exponents; too small gives +0."""
    # frexp counts the bits exactly: totals are far below 2**53.
    position = np.frexp(total.astype(np.float64))[1].astype(np.int64) - 1
    shift = position - fraction_bits
    significand = shift_round(total << np.maximum(-shift, 0), np.maximum(shift, 0), numerics.final_tie)
    significand = np.abs(significand)
    # A rounding carry leaves 2.0, whose fraction is 0 too.
    biased = exponent + position - point + (significand >> fraction_bits + 1)
    code = (biased << fraction_bits) + (significand & (1 << fraction_bits) - 1)
    if exponent_bits == 5:
        code = np.where(biased > 31, 0x7FFF, code)
    else:
        code = np.where(biased >= 255, 255 << fraction_bits, code)
    code |= (total < 0).astype(np.int64) << exponent_bits + fraction_bits
    return np.where((total == 0) | (biased <= 0), 0, code).astype(np.uint32)


def accumulate_integers(dst: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Add int64 values to sign-magnitude INT32 Dst words, saturating; zero is +0."""
    words = dst.astype(np.int64)
    magnitude = words & INT32_MAX
    total = np.where(words >> 31 == 1, -magnitude, magnitude) + values
    return (np.minimum(np.abs(total), INT32_MAX) | (total < 0).astype(np.int64) << 31).astype(np.uint32)
