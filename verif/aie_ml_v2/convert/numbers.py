"""Integers of a given width: all of them, or a sample."""

from random import Random

import numpy as np


def numbers_of(bits: int, most: int, source: Random) -> np.ndarray:
    """Return the signed integers of ``bits`` bits in order, or a sample if there are more than ``most``; int64."""
    every = range(-(1 << bits - 1), 1 << bits - 1)
    return np.array(every if len(every) <= most else sorted(source.sample(every, most)), np.int64)


def single_bits(bits: int) -> np.ndarray:
    """Return the signed integers of ``bits`` bits with a single bit set, and those with all bits but one; int64."""
    ones = [1 << k for k in range(bits - 1)]
    top = -(1 << bits - 1)
    return np.array([*ones, top, *(~one for one in ones), ~top], np.int64)


def one_a_row(numbers: np.ndarray, lanes: int) -> np.ndarray:
    """Return rows of lanes with one number each, in successive lanes, and zeros in the others."""
    rows = np.zeros((len(numbers), lanes), np.int64)
    rows[range(len(rows)), np.arange(len(rows)) % lanes] = numbers
    return rows.ravel()
