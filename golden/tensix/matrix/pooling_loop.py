"""GMPOOL, compiled: the maximum of each column, compared as sign and magnitude; `pooling` says which bits take part."""

from typing import NamedTuple

import numpy as np

from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.tensix.declarations.formats import COLUMNS as WORD_COLUMNS

COLUMNS = WORD_COLUMNS
FRACTION_BITS = 10
LOWEST = (1 << 19) - 1
"""All ones, a negative value below every datum, which replaces a SrcA row with scale zero."""
INTEGER_INPUT_BITS = 19
INTEGER_OUTPUT_BITS = 13
INDEXED_ROWS = 8
INDEX_FACTOR = 3
"""A row's index is stored times 3, modulo 8."""
POOLED_ROWS = 4
"""Dst rows that are written: the maximum, and zeros."""


class Pooling(NamedTuple):
    """Fields of GMPOOL.

    Attributes
    ----------
    integer : 1 if Dst's words are read and written as integers.
    half : 1 for words of 16 bits, with `upper` the upper halves of words of 32.
    short : 1 for 5 exponent bits in words of 16 bits.
    bias : taken off the sum of two exponents.
    rebias : added to SrcA's exponents other than 0.
    fraction_mask : SrcA's fraction bits.
    scales : 0 if exponents count for nothing.
    argmax : 1 to return positions.
    """

    integer: int
    half: int
    upper: int
    short: int
    bias: int
    rebias: int
    fraction_mask: int
    scales: int
    argmax: int


@piece
def _pooling_of(row):
    """Return the fields of a row of an array of them."""
    return Pooling(row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8])


@piece
def _read(word, pooling):
    """Return sign and magnitude of a Dst word: 19 bits of an integer, or exponent and 10 fraction bits with a second bias."""
    word = word >> 16 if pooling.upper else word
    if pooling.integer:
        return word >> 31, word & (1 << INTEGER_INPUT_BITS) - 1
    if pooling.half:
        return word >> 15, ((word & 0x7FFF) << (0 if pooling.short else 3)) + (pooling.bias << FRACTION_BITS)
    return word >> 31, ((word & 0x7FFFFFFF) >> 13) + (pooling.bias << FRACTION_BITS)


@piece
def _scaled(word, scale, pooling):
    """Return sign and magnitude of a SrcA datum."""
    if scale == 0:
        return np.int64(1), np.int64(LOWEST)
    exponent, fraction = word >> FRACTION_BITS & 0xFF, word & pooling.fraction_mask
    if exponent == 0:
        return np.int64(0), np.int64(0)
    magnitude = (exponent + pooling.rebias + scale << FRACTION_BITS) + fraction if pooling.scales else fraction
    return word >> 18, magnitude


@piece
def _word(negative, magnitude, pooling):
    """Return a Dst word; a bias that is taken off an exponent may wrap it."""
    if pooling.integer:
        return magnitude & (1 << INTEGER_OUTPUT_BITS) - 1 | negative << 31
    exponent, fraction = magnitude >> FRACTION_BITS, magnitude & (1 << FRACTION_BITS) - 1
    wrapped = exponent - pooling.bias & (0x1F if pooling.short else 0xFF)
    logical = wrapped << FRACTION_BITS | fraction
    # A zero of SrcA carries no exponent at all, not even the bias.
    if exponent == 0:
        return np.int64(0)
    if pooling.short:
        return logical | negative << 15
    return logical >> 3 | negative << 15 if pooling.half else logical << 13 | negative << 31


@kernel
def gmpool(dst, src_b, src_a, order, result, fields):
    """Write Dst words.

    Parameters
    ----------
    dst, result : uint32 [n, rows, 16], 4 rows or more.
    src_b, src_a : logical words, uint32 [n, 8, 16] and [n, 16, 16].
    order : rows of SrcA in the order of their comparisons, after Dst's: of equal datums the last one wins.
    fields : a `Pooling`, int64 [9].
    """
    pooling = _pooling_of(fields)
    for block in range(dst.shape[0]):
        for row in range(POOLED_ROWS, dst.shape[1]):
            for column in range(COLUMNS):
                result[block, row, column] = dst[block, row, column]
        for column in range(COLUMNS):
            old = np.int64(dst[block, 0, column])
            negative, magnitude = _read(old, pooling)
            largest, where = -magnitude if negative else magnitude, 0
            for i in range(order.shape[0]):
                row = order[i]
                scale = np.int64(src_b[block, 0, row]) >> FRACTION_BITS & 0xFF
                sign, size = _scaled(np.int64(src_a[block, row, column]), scale, pooling)
                value = -size if sign else size
                if value >= largest:
                    largest, negative, magnitude = value, sign, size
                    where = i + 1 if i < INDEXED_ROWS else where
            word = _word(negative, magnitude, pooling)
            for row in range(POOLED_ROWS):
                count = np.int64(dst[block, row, column]) + 0x100 & 0xF00 if pooling.argmax else np.int64(0)
                result[block, row, column] = count
            if pooling.argmax:
                count = old + 0x100 & 0xF00
                code = count >> 4 | order[where - 1] * INDEX_FACTOR % INDEXED_ROWS
                index = count | (code if where else old & 0xFF)
                word = index if pooling.integer else word << 16 | index
            result[block, 0, column] = word
