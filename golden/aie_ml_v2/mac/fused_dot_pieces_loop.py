"""Pieces of the kernels of AIE-ML v2's float and block matrices: sizes, powers of two, left operands, results."""

import numpy as np

from bitpath.golden.arrays.bits import code64, value64
from bitpath.golden.arrays.kernels import piece
from bitpath.golden.formats.catalogue import FP32

SHARE, COLUMNS = 64, 128
"""Rows that a core takes at a time, and columns of a block: its accumulators fit in the L1 cache."""
DEPTH = 8
"""Products of floats that are added at once."""
ENTITIES = 2 * DEPTH + 1
"""Left operands of a step on sparse B: two for each slot, and the zero of empty slots."""
LARGEST = 2.0**300
"""Power of two beyond those of all numbers here: products are below 2**260."""
POWER = 0x7FF << 52
"""Mask of a float64's exponent field: what it leaves of a normal number is the power of two below it."""
NAN = np.uint32(FP32.nan_code).view(np.float32)


@piece
def power_of(accumulator):
    """Return the power of two of a normal number's exponent; 0 of 0."""
    return value64(code64(accumulator) & POWER)


@piece
def left_of(x, places, step, i, j):
    """Return the left operand of a product."""
    if places is None:
        return x[step, i]
    return x[step, places[step, i, j]]


@piece
def write(accumulators, result):
    """Copy accumulators, all NaNs as one."""
    for m in range(result.shape[0]):
        for j in range(result.shape[1]):
            accumulator = accumulators[m, j]
            result[m, j] = NAN if np.isnan(accumulator) else accumulator
