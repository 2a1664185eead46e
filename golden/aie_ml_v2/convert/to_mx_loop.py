"""AIE-ML v2's conversion of FP32 to MX blocks.

All of it is integer arithmetic on significands of 24 bits.
"""

import numpy as np
from numba import njit

from bitpath.golden.aie_ml_v2.declarations.codes import MX_BLOCK, MX_NAN_EXPONENT, MxFormat, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.arrays.bits import RISES, kernel, shift_round
from bitpath.golden.arrays.parallel import in_parallel, owned, shares
from bitpath.golden.formats.catalogue import FP32

BLOCKS = 1 << 14
"""Fewest blocks for a thread of their own: they take 0.5 ms, as long as starting the thread."""
FRACTION_BITS, PRECISION, EXPONENT_MASK = FP32.fraction_bits, FP32.precision, FP32.exponent_mask
BLOCK, NAN_EXPONENT = MX_BLOCK, MX_NAN_EXPONENT
LARGEST_SHIFT = 26
"""Significands have 24 bits: a shift this long leaves less than half a unit of any, and sums of both stay in 32 bits."""


def to_mx(
    bits: np.ndarray, fmt: MxFormat, rounding: RoundingCode, numerics: AieNumerics
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return exponents [B] and shifts [B], uint8, and codes [B, 16], int8, of FP32 codes uint32 [B, 16]."""
    bits, count = owned(bits), len(bits)
    exponent, shift = np.empty(count, np.uint8), np.empty(count, np.uint8)
    codes = np.empty((count, MX_BLOCK), np.int8)
    lowest = fmt.min_code if numerics.mx_min_code else -fmt.max_code
    flags = numerics.mx_flush, numerics.mx_nan_block, numerics.mx_bump
    fields = (fmt.magnitude_bits, lowest, fmt.max_code, *flags, *RISES[rounding.mode])

    def work(part: slice) -> None:
        _to_mx(bits[part].view(np.int32), exponent[part], shift[part], codes[part], *map(np.int32, fields))

    in_parallel(work, shares(count, BLOCKS))
    return exponent, shift, codes


@njit(forceinline=True)
def _round(words, own, pair, rounded, magnitude_bits, flush, to_nearest, up):
    """Write the codes before saturation, for given exponents of the pairs; return the shared exponent and the shifts."""
    shared, shifts = np.int32(0), np.int32(0)
    for i in range(BLOCK):
        shared = max(shared, pair[i])
    for i in range(0, BLOCK, 2):
        shifts |= np.int32(pair[i] < shared) << (i >> 1)
    for i in range(BLOCK):
        fraction = words[i] & ((1 << FRACTION_BITS) - 1)
        normal = fraction | (1 << FRACTION_BITS)
        significand = normal if own[i] > 0 else (np.int32(0) if flush else fraction)
        value = -significand if words[i] < 0 else significand
        # From the last place of a significand to that of the element, whose bits start at the shared exponent.
        distance = PRECISION - magnitude_bits - np.int32(pair[i] < shared) + shared - max(own[i], np.int32(1))
        rounded[i] = shift_round(value, min(distance, np.int32(LARGEST_SHIFT)), to_nearest, up)
    return shared, shifts


@kernel
def _to_mx(bits, exponent, shift, codes, magnitude_bits, lowest, highest, flush, nan_blocks, bump, to_nearest, up):
    own, pair, rounded = np.empty(BLOCK, np.int32), np.empty(BLOCK, np.int32), np.empty(BLOCK, np.int32)
    for block in range(bits.shape[0]):
        words, out = bits[block], codes[block]
        for i in range(BLOCK):
            own[i] = words[i] >> FRACTION_BITS & EXPONENT_MASK
        for i in range(0, BLOCK, 2):
            pair[i] = max(own[i], own[i + 1])
            pair[i + 1] = pair[i]
        shared, shifts = _round(words, own, pair, rounded, magnitude_bits, flush, to_nearest, up)
        if bump:
            for i in range(0, BLOCK, 2):
                least, most = min(rounded[i], rounded[i + 1]), max(rounded[i], rounded[i + 1])
                if ((least < lowest) | (most > highest)) & (pair[i] < NAN_EXPONENT - 1):
                    pair[i] += 1
                    pair[i + 1] += 1
            shared, shifts = _round(words, own, pair, rounded, magnitude_bits, flush, to_nearest, up)
        nan = (shared == NAN_EXPONENT) & (nan_blocks != 0)
        exponent[block] = shared
        shift[block] = 0 if nan else shifts
        for i in range(BLOCK):
            out[i] = 0 if nan else min(max(rounded[i], lowest), highest)
