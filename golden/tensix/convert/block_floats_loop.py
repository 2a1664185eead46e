"""Block floating point, compiled: words to blocks and back.

The largest exponent of a block is found in four steps, and brought back to its datums in four.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bitpath.golden.arrays.bits import round_magnitude
from bitpath.golden.arrays.kernels import piece
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.tensix.convert.neighbours_loop import join, pair_maxima, repeat, split
from bitpath.golden.tensix.declarations.formats import BLOCK, BLOCK_FLOATS, Format
from bitpath.golden.tensix.declarations.numerics import BfpRange, TensixNumerics

STEPS = BLOCK.bit_length() - 1
MAGNITUDE_BITS = 7
"""Magnitude bits of BFP8; the narrower formats are truncated from it."""


class Block(NamedTuple):
    """Fields of a block.

    Attributes
    ----------
    exponent_bits, magnitude_bits : as in `BlockFloat`; 0 without blocks.
    to_even : 1 if ties round to even, 0 if away from zero.
    flushes : 1 if a datum whose exponent is below 0 becomes a zero of its sign, 0 if the exponent wraps.
    """

    exponent_bits: int = 0
    magnitude_bits: int = 0
    to_even: int = 0
    flushes: int = 0


def block_fields(numerics: TensixNumerics, fmt: Format) -> Block:
    """Return the fields of a format, of zeros without blocks."""
    if fmt not in BLOCK_FLOATS:
        return Block()
    exponent_bits, magnitude_bits = BLOCK_FLOATS[fmt].exponent_bits, BLOCK_FLOATS[fmt].magnitude_bits
    flushes = (numerics.bfp_range if exponent_bits == 8 else numerics.bfp_a_range) is BfpRange.FLUSH
    return Block(exponent_bits, magnitude_bits, numerics.final_tie is Rounding.RNE, flushes)


@piece
def _encode(word, shared, exponent_bits, magnitude_bits, to_even):
    """Convert a word s | e | m7 to a datum: the magnitude is rounded, clamped, then truncated."""
    exponent = np.uint32(word >> 7 & (1 << (exponent_bits & 31)) - 1)
    significand = np.uint32(word & 0x7F | np.uint32(exponent > 0) << 7)
    # Nothing is left of 8 bits after a shift of 9.
    shift = min(np.uint32(shared - exponent + 1), np.uint32(9))
    magnitude = min(round_magnitude(significand, shift, to_even), np.uint32((1 << MAGNITUDE_BITS) - 1))
    magnitude = np.uint32(magnitude >> (MAGNITUDE_BITS - magnitude_bits & 31))
    sign = word >> (exponent_bits + 7 & 31) << (magnitude_bits & 31)
    return np.uint32(0) if magnitude == 0 else np.uint32(sign | magnitude)


@piece
def _decode(datum, shared, exponent_bits, magnitude_bits, flushes):
    """Convert a datum to a source word s | e8 | m10.

    A magnitude of 0 with a sign becomes the pattern of -infinity, which the Matrix unit reads as a large number.
    """
    magnitude = np.int32(datum & (1 << (magnitude_bits & 31)) - 1)
    # FP32 has the magnitude normalised: its exponent is 126 + the bits of the magnitude.
    normal = np.float32(magnitude).view(np.int32)
    exponent = np.int32(shared - magnitude_bits - 126 + (normal >> 23))
    infinity = (1 << (exponent_bits & 31)) - 1
    code = np.int32((exponent & infinity) << 10 | normal >> 13 & 0x3FF)
    code = np.int32(0) if (exponent < 0) & (flushes != 0) else code
    sign = np.int32(datum >> (magnitude_bits & 31))
    code = np.int32(sign * infinity << 10) if magnitude == 0 else code
    return sign << 18 | code


@njit(inline="always")
def encode_blocks(values, exponents, data, block, scratch):
    """Write the exponents and datums, uint8, of a tile of words s | e | m7.

    Parameters
    ----------
    scratch : uint8 [STEPS + 1, size of a tile].
    """
    exponent_bits, magnitude_bits, to_even, _ = block
    size = values.shape[0]
    own = scratch[0]
    for i in range(size):
        own[i] = values[i] >> 7 & (1 << (exponent_bits & 31)) - 1
    for step in range(STEPS):
        pair_maxima(scratch[step], scratch[step + 1], size >> step + 1)
    shared = scratch[STEPS]
    for i in range(size // BLOCK):
        exponents[i] = shared[i]
    for step in range(STEPS, 0, -1):
        repeat(scratch[step], scratch[step - 1], size >> step)
    datums = data if magnitude_bits == MAGNITUDE_BITS else scratch[1]
    for i in range(size):
        datums[i] = _encode(values[i], np.uint32(own[i]), exponent_bits, magnitude_bits, to_even)
    if magnitude_bits == 3:
        join(scratch[1], data, size // 2, 4)
    elif magnitude_bits == 1:
        join(scratch[1], scratch[2], size // 2, 2)
        join(scratch[2], data, size // 4, 4)


@njit(inline="always")
def decode_blocks(exponents, data, words, block, scratch):
    """Write the source words of a tile of exponents and datums; the inverse of `encode_blocks`."""
    exponent_bits, magnitude_bits, _, flushes = block
    size = words.shape[0]
    repeat(exponents, scratch[STEPS - 1], size // BLOCK)
    for step in range(STEPS - 1, 0, -1):
        repeat(scratch[step], scratch[step - 1], size >> step)
    own, datums = scratch[0], data
    if magnitude_bits == 3:
        split(data, scratch[1], size // 2, 4)
    elif magnitude_bits == 1:
        split(data, scratch[2], size // 4, 4)
        split(scratch[2], scratch[1], size // 2, 2)
    if magnitude_bits < MAGNITUDE_BITS:
        datums = scratch[1]
    for i in range(size):
        words[i] = _decode(
            np.uint32(datums[i]), np.int32(own[i]), np.int32(exponent_bits), np.int32(magnitude_bits), flushes
        )
