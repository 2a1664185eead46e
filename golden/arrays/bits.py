"""Inlined pieces of the kernels: float64 taken apart, rounded to odd, and rounded to a format."""

import numpy as np

from bitpath.golden.arrays.kernels import piece
from bitpath.golden.formats.catalogue import Rounding

RISES = {
    Rounding.RTD: (0, 0b0000),
    Rounding.RTU: (0, 0b1111),
    Rounding.RTZ: (0, 0b1100),
    Rounding.RTA: (0, 0b0011),
    Rounding.RND: (1, 0b0000),
    Rounding.RNU: (1, 0b1111),
    Rounding.RNZ: (1, 0b1100),
    Rounding.RNA: (1, 0b0011),
    Rounding.RNE: (1, 0b1010),
    Rounding.RNO: (1, 0b0101),
}
"""1 if a rounding is to nearest, and a mask of the ties (if not to nearest, the inexact numbers) that round up. Bits of the
mask from the lowest, by the number just below: even, odd, even of a negative value, odd of a negative value."""


@piece
def code64(value):
    """Return the code of a float64, int64."""
    return np.float64(value).view(np.int64)


@piece
def value64(code):
    """Return the float64 of a code."""
    return np.int64(code).view(np.float64)


@piece
def copy_corner(source, target):
    """Copy the rows and columns that two arrays have both.

    Element by element: numba compiles an assignment of one slice to another together with the message of its shape error,
    which takes 2 to 4 s.
    """
    for m in range(min(source.shape[0], target.shape[0])):
        for j in range(min(source.shape[1], target.shape[1])):
            target[m, j] = source[m, j]


@piece
def two_sum(a, b):
    """Return a + b rounded to nearest even and the exact error of that (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@piece
def to_odd(total, error):
    """Return total + error rounded to odd, of a float64 sum and its exact error.

    The magnitude is truncated to 53 bits and, where anything was lost, its last bit set: the truncated number and the next
    one are neighbours, one of them odd. Truncation takes the number before `total` where the error points inward, that is
    where signs differ. An error of 0, and NaN, which infinity leaves, move nothing.
    """
    code = code64(total)
    inexact = np.int64((error < 0.0) | (error > 0.0))
    inward = np.int64(np.uint64(code ^ code64(error)) >> np.uint64(63)) & inexact
    return value64(code - inward | inexact)


@piece
def magnitude_code(code, fraction_bits, emin, bias, to_nearest):
    """Return a format's code, without sign and its exponent unbounded above, of a float64's code, rounded once.

    Parameters
    ----------
    code : int64; NaN and infinity give codes beyond any format's.
    to_nearest : 1 for RNE, 0 for RTZ.
    """
    biased = code >> 52 & 0x7FF
    significand = code & ((1 << 52) - 1) | np.int64(biased > 0) << 52
    biased = max(biased, np.int64(1))
    exponent = max(biased - 1023, emin)
    # Bits below the format's last one. 54 suffice: they leave nothing of 53 bits, and less than half a unit.
    shift = min(exponent - biased + 1023 + 52 - fraction_bits, np.int64(54))
    up = (np.int64(1) << shift - 1) - 1 + (significand >> shift & 1)
    kept = significand + up * to_nearest >> shift
    # The hidden bit of `kept` adds the 1 missing in the exponent, which a subnormal lacks; a carry adds one more.
    return (exponent + bias - 1 << fraction_bits) + kept


@piece
def shift_round(value, shift, to_nearest, up):
    """Divide int32 by ``2**shift``, at least 2, and round as the two fields of `RISES` say; their sum stays in 32 bits."""
    one = np.int32(1)
    goes_up = up >> ((value < 0) * 2 + (value >> shift & 1)) & 1
    whole = (one << shift) - one
    # To nearest: half a unit less one, and one more where a tie goes up. Else a unit less one, where that goes up.
    return value + ((whole >> 1) + goes_up if to_nearest else whole * goes_up) >> shift


@piece
def round_magnitude(magnitude, shift, to_even):
    """Divide uint32 by ``2**shift``, 0 to 31, and round to nearest, ties to even or up; magnitude + half stays in 32 bits.

    Parameters
    ----------
    to_even : uint32, 1 for ties to even, 0 for ties up.
    """
    # Operations on 32 bits fill the lanes of a vector; the mask says that no shift needs more.
    shift &= 31
    half = np.uint32(np.uint32(1 << shift) >> 1)
    goes_down = np.uint32(~np.uint32(magnitude >> shift) & to_even)
    # Without a shift nothing is discarded, and half is 0.
    return np.uint32(np.uint32(magnitude + half - min(half, goes_down)) >> shift)
