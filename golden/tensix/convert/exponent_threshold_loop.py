"""The packers' exponent threshold on one intermediate value, compiled."""

from typing import NamedTuple

import numpy as np
from numba import njit

from bitpath.golden.arrays.kernels import piece
from bitpath.golden.tensix.declarations.formats import EXPONENT5_FORMATS, Format


class Threshold(NamedTuple):
    """Fields of the exponent threshold; a `least` of 0 changes nothing.

    Attributes
    ----------
    right, mask : shift and mask that leave the exponent, 5 bits or 8.
    least : values of a smaller exponent become +0.
    """

    right: int
    mask: int
    least: int


def threshold_fields(mid_format: Format, threshold: int) -> Threshold:
    """Return the fields for `pack`'s arguments, checked."""
    return Threshold(10, 0x1F, threshold) if mid_format in EXPONENT5_FORMATS else Threshold(23, 0xFF, threshold)


@piece
def _flush(value, right, mask, least):
    exponent = np.uint32(value >> right & mask)
    return np.uint32(0) if exponent < least else value


@njit(inline="always")
def apply_threshold(values, threshold):
    """Apply the threshold to a tile of intermediate floats."""
    right, mask, least = threshold
    right &= 31
    if least:
        for i in range(values.shape[0]):
            values[i] = _flush(values[i], right, mask, least)
