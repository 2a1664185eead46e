"""The packers' ReLU on one intermediate value, compiled."""

from typing import NamedTuple

import numpy as np
from numba import njit

from bitpath.golden.arrays.kernels import piece
from bitpath.golden.tensix.convert.early_conversion import INTEGERS
from bitpath.golden.tensix.declarations.formats import EXPONENT5_FORMATS, Format

CLAMP_IGNORED_BITS = 13
"""Low bits of an FP32 word that mode 3 does not compare."""


class Relu(NamedTuple):
    """Fields of ReLU.

    Attributes
    ----------
    on : 0 to change nothing.
    sign : sign bit; negative values, -0 too, become +0.
    floor : values not above become +0.
    most : greater values become `ceiling`.
    """

    on: int
    sign: int
    floor: int
    most: int
    ceiling: int


def relu_fields(mid_format: Format, mode: int, threshold: int, *, unsigned: bool) -> Relu:
    """Return the fields for `pack`'s arguments, checked."""
    if mid_format in INTEGERS:
        top = {Format.INT32: 31, Format.INT16: 15, Format.INT8: 7}[mid_format]
    else:
        top = 15 if mid_format in EXPONENT5_FORMATS else 31
    on = mode > 0 and not unsigned
    limit = threshold << top - 15 if mode > 1 else 0
    if mode == 3:
        ignored = (1 << CLAMP_IGNORED_BITS if top == 31 else 1) - 1
        return Relu(on, 1 << top, 0, limit | ignored, limit)
    return Relu(on, 1 << top, limit, (1 << top) - 1, 0)


@piece
def _clamp(value, sign, floor, most, ceiling):
    return (value if value <= most else ceiling) if (value > floor) & (value < sign) else np.uint32(0)


@njit(inline="always")
def apply_relu(values, relu):
    """Apply ReLU to a tile of intermediate values."""
    on, sign, floor, most, ceiling = relu
    if on:
        for i in range(values.shape[0]):
            values[i] = _clamp(values[i], sign, floor, most, ceiling)
