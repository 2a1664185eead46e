"""AIE-ML v2's conversion of FP32 to MX blocks.

Bit-identical to `aie_ml_v2.to_mx` for the numerics that `supports` names, in all ten rounding codes. All of it is integer
arithmetic on significands of 24 bits.
"""

import numpy as np
from numba import njit

from bitpath.golden.aie_ml_v2.declarations.codes import MX_BLOCK, MX_NAN_EXPONENT, MxFormat, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.arrays.backend import in_parallel, owned, shares
from bitpath.golden.arrays.bits import kernel
from bitpath.golden.formats.catalogue import FP32

BLOCKS = 1 << 14
"""Fewest blocks for a thread of their own: they take 0.5 ms, as long as starting the thread."""
FRACTION_BITS, PRECISION, EXPONENT_MASK = FP32.fraction_bits, FP32.precision, FP32.exponent_mask
BLOCK, NAN_EXPONENT = MX_BLOCK, MX_NAN_EXPONENT
LARGEST_SHIFT = 26
"""Significands have 24 bits: a shift this long leaves less than half a unit of any, and sums of both stay in 32 bits."""
CODE = RoundingCode
ROUNDING = {
    CODE.FLOOR: (0, 0b0000),
    CODE.CEIL: (0, 0b1111),
    CODE.SYMMETRIC_FLOOR: (0, 0b1100),
    CODE.SYMMETRIC_CEIL: (0, 0b0011),
    CODE.NEGATIVE_INF: (1, 0b0000),
    CODE.POSITIVE_INF: (1, 0b1111),
    CODE.SYMMETRIC_ZERO: (1, 0b1100),
    CODE.SYMMETRIC_INF: (1, 0b0011),
    CODE.CONV_EVEN: (1, 0b1010),
    CODE.CONV_ODD: (1, 0b0101),
}
"""1 if a code rounds to nearest, and a mask of the ties (if not to nearest, the inexact numbers) that round up. Bits of
the mask from the lowest, by the number just below: even, odd, even of a negative value, odd of a negative value."""


def supports(numerics: AieNumerics) -> bool:
    """Return True if the kernel implements these numerics: every field but the bump, which rounds a block again."""
    return not numerics.mx_bump


def to_mx(
    bits: np.ndarray, fmt: MxFormat, rounding: RoundingCode, numerics: AieNumerics
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return exponents [B] and shifts [B], uint8, and codes [B, 16], int8, of FP32 codes uint32 [B, 16]."""
    bits, count = owned(bits), len(bits)
    exponent, shift = np.empty(count, np.uint8), np.empty(count, np.uint8)
    codes = np.empty((count, MX_BLOCK), np.int8)
    lowest = fmt.min_code if numerics.mx_min_code else -fmt.max_code
    fields = (fmt.magnitude_bits, lowest, fmt.max_code, numerics.mx_flush, numerics.mx_nan_block, *ROUNDING[rounding])

    def work(part: slice) -> None:
        _to_mx(bits[part].view(np.int32), exponent[part], shift[part], codes[part], *map(np.int32, fields))

    in_parallel(work, shares(count, BLOCKS))
    return exponent, shift, codes


@njit(forceinline=True)
def shift_round(value, shift, to_nearest, up):
    """Divide by ``2**shift``, at least 2, and round as the two fields of `ROUNDING` say."""
    one = np.int32(1)
    goes_up = up >> ((value < 0) * 2 + (value >> shift & 1)) & 1
    whole = (one << shift) - one
    # To nearest: half a unit less one, and one more where a tie goes up. Else a unit less one, where that goes up.
    return value + ((whole >> 1) + goes_up if to_nearest else whole * goes_up) >> shift


@kernel
def _to_mx(bits, exponent, shift, codes, magnitude_bits, lowest, highest, flush, nan_blocks, to_nearest, up):
    own = np.empty(BLOCK, np.int32)
    pair = np.empty(BLOCK, np.int32)
    for block in range(bits.shape[0]):
        words, out = bits[block], codes[block]
        for i in range(BLOCK):
            own[i] = words[i] >> FRACTION_BITS & EXPONENT_MASK
        shared, shifts = np.int32(0), np.int32(0)
        for i in range(0, BLOCK, 2):
            pair[i] = max(own[i], own[i + 1])
            pair[i + 1] = pair[i]
            shared = max(shared, pair[i])
        for i in range(0, BLOCK, 2):
            shifts |= np.int32(pair[i] < shared) << (i >> 1)
        exponent[block] = shared
        nan = (shared == NAN_EXPONENT) & (nan_blocks != 0)
        shift[block] = 0 if nan else shifts
        for i in range(BLOCK):
            fraction = words[i] & ((1 << FRACTION_BITS) - 1)
            normal = fraction | (1 << FRACTION_BITS)
            significand = normal if own[i] > 0 else (np.int32(0) if flush else fraction)
            value = -significand if words[i] < 0 else significand
            # From the last place of a significand to that of the element, whose bits start at the shared exponent.
            distance = PRECISION - magnitude_bits - np.int32(pair[i] < shared) + shared - max(own[i], np.int32(1))
            rounded = shift_round(value, min(distance, np.int32(LARGEST_SHIFT)), to_nearest, up)
            out[i] = 0 if nan else min(max(rounded, lowest), highest)
