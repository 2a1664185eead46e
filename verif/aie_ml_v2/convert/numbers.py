"""All integers of a width, or as many as there is time for."""

from random import Random

import numpy as np


def numbers_of(bits: int, most: int, source: Random) -> np.ndarray:
    """The signed integers of so many bits in order, or some of them where these are more than ``most``: int64."""
    every = range(-(1 << bits - 1), 1 << bits - 1)
    return np.array(every if len(every) <= most else sorted(source.sample(every, most)), np.int64)


def single_bits(bits: int) -> np.ndarray:
    """The signed integers of so many bits that have a single bit, and those that have all but one: int64."""
    ones = [1 << k for k in range(bits - 1)]
    top = -(1 << bits - 1)
    return np.array([*ones, top, *(~one for one in ones), ~top], np.int64)


def one_a_row(numbers: np.ndarray, lanes: int) -> np.ndarray:
    """Rows of lanes, one behind the other: each has one of the numbers, in the lanes by turns, among zeros."""
    rows = np.zeros((len(numbers), lanes), np.int64)
    rows[range(len(rows)), np.arange(len(rows)) % lanes] = numbers
    return rows.ravel()
