"""Neighbouring bytes joined and split, compiled: the steps between datums, bytes and blocks, each a factor of two.

Loops whose index is doubled are vectorised, those over the 16 datums of a block are not.
"""

from bitpath.golden.arrays.kernels import piece


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
