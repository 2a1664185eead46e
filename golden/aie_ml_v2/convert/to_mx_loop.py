"""AIE-ML v2's conversion of FP32 to MX blocks.

All of it is integer arithmetic on significands of 24 bits.
"""

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import MX_NAN_EXPONENT, MxFormat, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.arrays.bits import RISES, shift_round
from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.arrays.parallel import in_parallel, owned, shares
from bitpath.golden.formats.catalogue import FP32

BLOCKS = 1 << 14
"""Fewest blocks for a thread of their own: they take 0.5 ms, as long as starting the thread."""
FRACTION_BITS, PRECISION, EXPONENT_MASK = FP32.fraction_bits, FP32.precision, FP32.exponent_mask
NAN_EXPONENT = MX_NAN_EXPONENT
LARGEST_SHIFT = 26
"""Significands have 24 bits: a shift this long leaves less than half a unit of any, and sums of both stay in 32 bits."""


def to_mx(
    bits: np.ndarray, fmt: MxFormat, rounding: RoundingCode, numerics: AieNumerics
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return exponents [B] and shifts [B], uint8, and codes [B, n], int8, of FP32 codes uint32 [B, n]."""
    bits, count = owned(bits), len(bits)
    exponent, shift = np.empty(count, np.uint8), np.empty(count, np.uint8)
    codes = np.empty(bits.shape, np.int8)
    lowest = fmt.min_code if numerics.mx_min_code else -fmt.max_code
    # The length of a tuple is a constant to the compiler, which unrolls the loops.
    sizes = (0,) * fmt.elements, (0,) * fmt.sub_tile
    flags = numerics.mx_flush, numerics.mx_nan_block, numerics.mx_bump
    fields = (fmt.magnitude_bits, lowest, fmt.max_code, *flags, *RISES[rounding.mode])

    def work(part: slice) -> None:
        _to_mx(bits[part].view(np.int32), exponent[part], shift[part], codes[part], *sizes, *map(np.int32, fields))

    in_parallel(work, shares(count, BLOCKS))
    return exponent, shift, codes


@piece
def _round(words, own, largest, rounded, size, sub_tile, magnitude_bits, flush, to_nearest, up):
    """Write the codes before saturation, for given exponents of the sub-tiles; return the shared exponent and the shifts."""
    shared, shifts = np.int32(0), np.int32(0)
    for i in range(size):
        shared = max(shared, largest[i])
    for i in range(0, size, sub_tile):
        shifts |= np.int32(largest[i] < shared) << (i >> 1)
    for i in range(size):
        fraction = words[i] & ((1 << FRACTION_BITS) - 1)
        normal = fraction | (1 << FRACTION_BITS)
        significand = normal if own[i] > 0 else (np.int32(0) if flush else fraction)
        value = -significand if words[i] < 0 else significand
        # From the last place of a significand to that of the element, whose bits start at the shared exponent.
        distance = PRECISION - magnitude_bits - np.int32(largest[i] < shared) + shared - max(own[i], np.int32(1))
        rounded[i] = shift_round(value, min(distance, np.int32(LARGEST_SHIFT)), to_nearest, up)
    return shared, shifts


@kernel
def _to_mx(
    bits, exponent, shift, codes, places, tile, magnitude_bits, lowest, highest, flush, nan_blocks, bump, to_nearest, up
):
    size, sub_tile = len(places), len(tile)
    own, largest, rounded = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    for block in range(bits.shape[0]):
        words, out = bits[block], codes[block]
        for i in range(size):
            own[i] = words[i] >> FRACTION_BITS & EXPONENT_MASK
        for first in range(0, size, sub_tile):
            most = own[first]
            for i in range(first + 1, first + sub_tile):
                most = max(most, own[i])
            for i in range(first, first + sub_tile):
                largest[i] = most
        shared, shifts = _round(words, own, largest, rounded, size, sub_tile, magnitude_bits, flush, to_nearest, up)
        if bump:
            for first in range(0, size, sub_tile):
                leaves = False
                for i in range(first, first + sub_tile):
                    leaves |= (rounded[i] < lowest) | (rounded[i] > highest)
                if leaves & (largest[first] < NAN_EXPONENT - 1):
                    for i in range(first, first + sub_tile):
                        largest[i] += 1
            shared, shifts = _round(words, own, largest, rounded, size, sub_tile, magnitude_bits, flush, to_nearest, up)
        nan = (shared == NAN_EXPONENT) & (nan_blocks != 0)
        exponent[block] = shared
        shift[block] = 0 if nan else shifts
        for i in range(size):
            out[i] = 0 if nan else min(max(rounded[i], lowest), highest)
