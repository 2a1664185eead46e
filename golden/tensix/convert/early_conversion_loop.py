"""The packers' first conversion, compiled: one Dst word to an intermediate value."""

from typing import NamedTuple

import numpy as np
from numba import njit

from bitpath.golden.arrays.bits import round_magnitude
from bitpath.golden.arrays.kernels import piece
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.tensix.convert.early_conversion import INTEGERS, UPPER_HALF_FORMATS, kept_fraction_bits
from bitpath.golden.tensix.convert.narrow_exponent_loop import narrow_exponent
from bitpath.golden.tensix.declarations.formats import EXPONENT5_FORMATS, Format
from bitpath.golden.tensix.declarations.numerics import StochasticCompare, TensixNumerics

RANDOM_BITS = 23
"""Random bits of a datum."""


class Early(NamedTuple):
    """Fields of the conversion.

    Attributes
    ----------
    int8 : 1 for INT32 to INT8.
    upper : 1 for the upper half of a 32-bit word, INT16.
    narrows : 1 to narrow a BF16 word to FP16.
    rounds : 1 to round, 0 to truncate.
    random : discarded bits that are compared with random ones, 0 to round to nearest.
    all_bits : 1 if they are compared with all 23 random bits, 0 with as many of the top ones.
    to_even : 1 if ties round to even, 0 if away from zero.
    left : shift that brings a 16-bit word to the place of FP32.
    dropped : low bits that are dropped.
    sign : sign bit of the result, 0 for none.
    infinity : greater magnitudes, NaN, become this before they are rounded.
    largest : largest magnitude of the result.
    least : rounded magnitudes below become +0.
    flushed : magnitudes below become +0 before they are rounded.
    """

    int8: int = 0
    upper: int = 0
    narrows: int = 0
    rounds: int = 0
    random: int = 0
    all_bits: int = 0
    to_even: int = 0
    left: int = 0
    dropped: int = 0
    sign: int = 0
    infinity: int = 0
    largest: int = 0
    least: int = 0
    flushed: int = 0


def early_fields(
    numerics: TensixNumerics,
    mid_format: Format,
    *,
    dst32: bool,
    unsigned: bool,
    raw: bool,
    narrows: bool,
    stochastic: bool,
    descale_shift: int,
) -> Early:
    """Return the fields for `pack`'s arguments, checked; with `narrows` Dst words are BF16 and the values FP16."""
    if narrows:
        return Early(narrows=1, left=16)
    to_even = numerics.final_tie is Rounding.RNE
    if mid_format is Format.INT8:
        sign, largest = (0, 0xFF) if unsigned else (0x80, 0x7F)
        return Early(int8=1, rounds=not raw, to_even=to_even, dropped=descale_shift, sign=sign, largest=largest)
    if dst32 and mid_format in UPPER_HALF_FORMATS:
        return Early(upper=1)
    if mid_format in INTEGERS or (dst32 and mid_format is Format.FP32):
        return Early()
    kept = kept_fraction_bits(mid_format, raw=raw)
    discarded = max(0, (10 if mid_format in EXPONENT5_FORMATS else 23 if dst32 else 7) - kept)
    all_bits = numerics.stochastic_compare is StochasticCompare.ALL_BITS
    common = {"rounds": not raw, "to_even": to_even, "random": discarded * stochastic, "all_bits": all_bits}
    if mid_format in EXPONENT5_FORMATS:
        dropped = 10 - kept
        largest = 0x7FFF >> dropped << dropped
        return Early(dropped=dropped, sign=1 << 15, infinity=0x7FFF, largest=largest, least=1 << 10, **common)
    # A 16-bit denormal is flushed before it is rounded, a 32-bit one after.
    left, flushed = (0, 0) if dst32 else (16, 1 << 23)
    limits = {"infinity": 0x7F800000, "largest": 0x7F800000, "least": 1 << 23, "flushed": flushed}
    return Early(left=left, dropped=23 - kept, sign=1 << 31, **limits, **common)


def truncates(early: Early) -> bool:
    """Return True for a conversion that shifts left and drops low bits, and nothing else."""
    return not any((early.int8, early.upper, early.narrows, early.rounds, early.random))


@piece
def _truncate(word, left, dropped):
    return np.uint32(word << left) >> dropped << dropped


@piece
def _round(word, to_even, left, dropped, sign, infinity, largest, least, flushed):
    word = np.uint32(word << left)
    magnitude = np.uint32(word & ~sign)
    rounded = np.uint32(round_magnitude(min(magnitude, infinity), dropped, to_even) << dropped)
    nothing = (rounded < least) | (magnitude < flushed)
    return np.uint32(0) if nothing else np.uint32(word & sign | min(rounded, largest))


@piece
def _round_randomly(word, bits, random, all_bits, left, dropped, sign, infinity, largest, least, flushed):
    word = np.uint32(word << left)
    magnitude = np.uint32(word & ~sign)
    below = min(magnitude, infinity)
    discarded, bits = np.uint32(below >> left & (1 << random) - 1), np.uint32(bits & (1 << RANDOM_BITS) - 1)
    if all_bits:
        up = np.uint32(discarded << RANDOM_BITS - random >= bits)
    else:
        up = np.uint32(discarded >= bits >> RANDOM_BITS - random)
    rounded = np.uint32((below >> dropped) + up << dropped)
    nothing = (rounded < least) | (magnitude < flushed)
    return np.uint32(0) if nothing else np.uint32(word & sign | min(rounded, largest))


@piece
def _truncate_int8(word, sign, largest):
    return word & largest | word >> 24 & sign


@piece
def _round_int8(word, to_even, dropped, sign, largest):
    """Shift, round and clamp sign and magnitude; the sign of a zero stays. Without a sign, a negative number is 0."""
    magnitude = min(round_magnitude(np.uint32(word & 0x7FFFFFFF), dropped, to_even), largest)
    cleared = (word >> 31 != 0) & (sign == 0)
    return np.uint32(0) if cleared else np.uint32(magnitude | word >> 24 & sign)


@piece
def _upper_half(word):
    """Return the upper half of a 32-bit word in the register's order, s | m7 | e8."""
    return word >> 31 << 15 | (word >> 16 & 0x7F) << 8 | word >> 23 & 0xFF


@njit(inline="always")
def _convert_int8(words, values, rounds, to_even, dropped, sign, largest):
    if rounds:
        for i in range(words.shape[0]):
            values[i] = _round_int8(words[i], to_even, dropped, sign, largest)
    else:
        for i in range(words.shape[0]):
            values[i] = _truncate_int8(words[i], sign, largest)


@njit(inline="always")
def round_randomly(words, bits, values, early):
    """Write intermediate values of a tile of Dst words and random bits for each, all uint32, where `early.random` is not 0."""
    _, _, _, _, random, all_bits, _, left, dropped, sign, infinity, largest, least, flushed = early
    left, dropped, random = left & 31, dropped & 31, random & 31
    for i in range(words.shape[0]):
        values[i] = _round_randomly(
            words[i], bits[i], random, all_bits, left, dropped, sign, infinity, largest, least, flushed
        )


@njit(inline="always")
def convert_early(words, values, early):
    """Write intermediate values of a tile of Dst words, both uint32, where `early.random` is 0."""
    int8, upper, narrows, rounds, _, _, to_even, left, dropped, sign, infinity, largest, least, flushed = early
    left, dropped = left & 31, dropped & 31
    if int8:
        _convert_int8(words, values, rounds, to_even, dropped, sign, largest)
    elif upper:
        for i in range(words.shape[0]):
            values[i] = _upper_half(words[i])
    elif narrows:
        for i in range(words.shape[0]):
            values[i] = narrow_exponent(np.uint32(words[i] << left))
    elif rounds:
        for i in range(words.shape[0]):
            values[i] = _round(words[i], to_even, left, dropped, sign, infinity, largest, least, flushed)
    else:
        for i in range(words.shape[0]):
            values[i] = _truncate(words[i], left, dropped)
