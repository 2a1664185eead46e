"""Tiles of datums, uint32, between the steps of the unpackers and packers, read from L1 and written to it, compiled.

A step is a loop over a tile. Steps are inlined before numba compiles them (``inline="always"``), since a function that LLVM
inlines is also compiled alone. They take their shifts modulo 32, which changes none of them: the compiler then knows that 32
bits are enough, and fills the lanes of a vector with twice as many datums.
"""

from typing import Any

import numpy as np
from numba import njit

TILE = 1 << 10
"""Datums of a tile: they stay in the nearest cache from step to step."""
SHARE = 1 << 16
"""Fewest datums for a thread of their own, a multiple of a tile: they take as long as handing them over."""
WIDTHS = 1, 2, 4


def lanes(fields: Any) -> Any:
    """Return a step's fields, a named tuple, as uint32, the width of a tile's datums, so that numba calculates in 32 bits."""
    return fields._make(map(np.uint32, fields))


def codes_of(data: np.ndarray, width: int) -> np.ndarray:
    """Return little-endian bytes as codes of `width` bytes, aligned and writable, so that numba compiles one kernel."""
    codes = data.view(f"<u{width}").astype(f"u{width}", copy=False)
    return np.require(codes, requirements=("A", "C", "W"))


def by_width(codes: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return arrays of uint8, uint16 and uint32: the codes and two without any, so that numba compiles one kernel for all."""
    return tuple(codes if codes.itemsize == each else np.empty(0, f"u{each}") for each in WIDTHS)


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
