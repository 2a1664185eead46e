"""Compiled steps that unpackers and packers share: block floats, narrow exponents, neighbours, and tiles in L1."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from bitpath.golden.arrays.bits import round_magnitude
from bitpath.golden.arrays.kernels import piece
from bitpath.golden.formats.catalogue import Rounding
from bitpath.golden.tensix.declarations.formats import BLOCK, BLOCK_FLOATS, Format
from bitpath.golden.tensix.declarations.numerics import BfpRange, TensixNumerics

# Neighbouring bytes joined and split, compiled: the steps between datums, bytes and blocks, each a factor of two.
#
# Loops whose index is doubled are vectorised, those over the 16 datums of a block are not.


@piece
def pair_maxima(values, maxima, count):
    """Write the larger of each of `count` pairs."""
    for i in range(count):
        maxima[i] = max(values[2 * i], values[2 * i + 1])


@piece
def repeat(values, pairs, count):
    """Write each of `count` values twice."""
    for i in range(count):
        pairs[2 * i] = values[i]
        pairs[2 * i + 1] = values[i]


@piece
def split(values, pairs, count, bits):
    """Write the low `bits` of each of `count` values, then the bits above."""
    mask = (1 << bits) - 1
    for i in range(count):
        pairs[2 * i] = values[i] & mask
        pairs[2 * i + 1] = values[i] >> bits


@piece
def join(pairs, values, count, bits):
    """Write `count` values of two neighbours each, the first in the low `bits`; the inverse of `split`."""
    for i in range(count):
        values[i] = pairs[2 * i] | pairs[2 * i + 1] << bits


# Block floating point, compiled: words to blocks and back.
#
# The largest exponent of a block is found in four steps, and brought back to its datums in four.


STEPS = BLOCK.bit_length() - 1
MAGNITUDE_BITS = 7
"""Magnitude bits of BFP8; the narrower formats are truncated from it."""


class Block(NamedTuple):
    """Fields of a block, as the loops take them.

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


# FP32 to FP16 as unpackers and packers convert it, compiled.


@piece
def narrow_exponent(word):
    """Convert an FP32 word: the fraction truncated, large values all ones, small ones a zero with sign.

    A value below FP16's normal range by less than one binade keeps its fraction under a zero exponent.
    """
    exponent = np.int32(word >> 23 & 0xFF) - 112
    code = np.int32(exponent << 10 | word >> 13 & 0x3FF)
    code = np.int32(0x7FFF) if exponent > 31 else code
    code = np.int32(0) if exponent < 0 else code
    return np.uint32(word >> 31 << 15 | code)


# Tiles of datums, uint32, between the steps of the unpackers and packers, read from L1 and written to it, compiled.
#
# A step is a loop over a tile. Steps are inlined before numba compiles them (``inline="always"``), since a function that LLVM
# inlines is also compiled alone. They take their shifts modulo 32, which changes none of them: the compiler then knows that 32
# bits are enough, and fills the lanes of a vector with twice as many datums.


TILE = 1 << 10
"""Datums of a tile: they stay in the nearest cache from step to step."""
SHARE = 1 << 16
"""Fewest datums for a thread of their own, a multiple of a tile: they take as long as handing them over."""
NOTHING = {width: np.empty(0, f"u{width}") for width in (1, 2, 4)}
"""Arrays without datums, by the bytes of a datum."""


def lanes(fields: Any) -> Any:
    """Return a step's fields, a named tuple, as uint32, the width of a tile's datums, so that numba calculates in 32 bits."""
    return fields._make(map(np.uint32, fields))


def codes_of(data: np.ndarray, width: int) -> np.ndarray:
    """Return little-endian bytes as codes of `width` bytes, aligned and writable, so that numba compiles one kernel."""
    codes = data.view(f"<u{width}").astype(f"u{width}", copy=False)
    return codes if codes.flags.carray else np.require(codes, requirements=("A", "C", "W"))


def by_width(codes: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return arrays of uint8, uint16 and uint32: the codes and two without any, so that numba compiles one kernel for all."""
    return tuple(codes if codes.itemsize == each else nothing for each, nothing in NOTHING.items())


@njit(inline="always")
def _copy(source, target):
    for i in range(target.shape[0]):
        target[i] = source[i]


@njit(inline="always")
def load(data, start, width, codes):
    """Read a tile from an array of `by_width`."""
    one, two, four = data
    stop = start + codes.shape[0]
    if width == 1:
        _copy(one[start:stop], codes)
    elif width == 2:
        _copy(two[start:stop], codes)
    else:
        _copy(four[start:stop], codes)


@njit(inline="always")
def store(codes, data, start, width):
    """Write a tile to an array of `by_width`."""
    one, two, four = data
    stop = start + codes.shape[0]
    if width == 1:
        _copy(codes, one[start:stop])
    elif width == 2:
        _copy(codes, two[start:stop])
    else:
        _copy(codes, four[start:stop])
