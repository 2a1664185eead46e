"""Block floating point: 16 datums of sign and magnitude under one exponent byte, to and from BF16 and FP16.

Ref: tt-isa-documentation 3930471, FloatBitPatterns and Packers/FormatConversion; ttsim v1.10.0 for the wrapping exponent
and the clamp.
"""

import numpy as np

from bitpath.golden.arrays.rounding import shift_round
from bitpath.golden.tensix.declarations.formats import BLOCK, BLOCK_FLOATS, BlockFloat, Format
from bitpath.golden.tensix.declarations.numerics import BfpRange, TensixNumerics

MAGNITUDE_BITS = 7
"""Magnitude bits of BFP8; the narrower formats are aligned to it."""
EXPONENT_STREAM_ALIGNMENT = 16
"""The exponents before the datums are padded to a multiple of 16 bytes."""


def exponent_stream_bytes(count: int) -> int:
    """Return the bytes that the exponents of `count` datums take in L1."""
    return -(-count // BLOCK // EXPONENT_STREAM_ALIGNMENT) * EXPONENT_STREAM_ALIGNMENT


def decode_blocks(numerics: TensixNumerics, fmt: Format, exponents: np.ndarray, datums: np.ndarray) -> np.ndarray:
    """Return datums as BF16 words, or as FP16 words from an 'a' variant.

    A magnitude of 0 with a sign becomes the pattern of -infinity, which the Matrix unit reads as a large number.

    Parameters
    ----------
    exponents : int64 [n], one a block.
    datums : int64 [n, 16] codes.

    Returns
    -------
    int64 [n, 16].
    """
    block = BLOCK_FLOATS[fmt]
    sign = datums >> block.magnitude_bits
    magnitude = (datums & (1 << block.magnitude_bits) - 1) << MAGNITUDE_BITS - block.magnitude_bits
    zeros = MAGNITUDE_BITS - np.frexp(magnitude.astype(np.float64))[1].astype(np.int64)
    exponent = exponents[:, np.newaxis] - zeros
    wide = block.exponent_bits == 8
    fraction_bits = 7 if wide else 10
    fraction = (magnitude << zeros & (1 << MAGNITUDE_BITS - 1) - 1) << fraction_bits - (MAGNITUDE_BITS - 1)
    code = (exponent & (1 << block.exponent_bits) - 1) << fraction_bits | fraction
    if (numerics.bfp_range if wide else numerics.bfp_a_range) is BfpRange.FLUSH:
        code = np.where(exponent < 0, 0, code)
    minus_zero = ((1 << block.exponent_bits) - 1) << fraction_bits
    code = np.where(magnitude == 0, sign * minus_zero, code)
    return sign << 15 | code


def encode_blocks(numerics: TensixNumerics, fmt: Format, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Round 16 words to one block: the largest exponent is shared, magnitudes are clamped, then truncated.

    Parameters
    ----------
    words : int64 [n, 16]: BF16, or FP16 with three low zeros for an 'a' variant.

    Returns
    -------
    exponents int64 [n] and datums int64 [n, 16].
    """
    block = BLOCK_FLOATS[fmt]
    words = words if block.exponent_bits == 8 else words >> 3
    # s | e8 | m7, or s | e5 | m7
    sign = words >> block.exponent_bits + 7
    exponent = words >> 7 & (1 << block.exponent_bits) - 1
    significand = words & 0x7F | (exponent > 0).astype(np.int64) << 7
    shared = exponent.max(axis=-1)
    # Nothing is left of 8 bits after a shift of 9.
    shift = np.minimum(shared[:, np.newaxis] - exponent + 1, 9)
    magnitude = np.minimum(shift_round(significand, shift, numerics.final_tie), (1 << MAGNITUDE_BITS) - 1)
    truncated = magnitude >> MAGNITUDE_BITS - block.magnitude_bits
    return shared, np.where(truncated == 0, 0, sign << block.magnitude_bits | truncated)


def split_datums(block: BlockFloat, data: np.ndarray, count: int) -> np.ndarray:
    """Return `count` datums from bytes, the first in the lowest bits; int64 [count / 16, 16]."""
    shifts = np.arange(0, 8, block.datum_bits)
    datums = data.astype(np.int64)[:, np.newaxis] >> shifts & (1 << block.datum_bits) - 1
    return datums.reshape(-1)[:count].reshape(-1, BLOCK)


def join_datums(block: BlockFloat, datums: np.ndarray) -> np.ndarray:
    """Return bytes from datums; the inverse of `split_datums`."""
    shifts = np.arange(0, 8, block.datum_bits)
    return (datums.reshape(-1, len(shifts)) << shifts).sum(axis=-1).astype(np.uint8)
