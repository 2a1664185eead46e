"""FP32 arithmetic of the engines on arrays, and how operands are read and results written.

Results are bit-identical to `bitpath.golden.scalar.fp32`. numpy's float32 sum, product and quotient are IEEE 754's, each rounded once to
nearest even with subnormals; reciprocal and roots are those of `bitpath.golden.arrays.fp32`. Casts go through the codec's
rounder.
"""

import numpy as np

from bitpath.golden.arrays.codec import codes_of, decode_array, encode_array, format_of
from bitpath.golden.arrays.fp32 import NAN, one_nan, operation, reciprocal, reciprocal_square_root, square_root
from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.trainium3.exact.functions import power as exact_power

# x to the power of y on float32 arrays, rounded once to nearest even.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.functions`.


_DOUBT = 2.0**-40
"""Relative error that is allowed for float64's power; libraries stay below 2**-50."""


def power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return x**y, with IEEE 754's results for zeros, infinities, NaN and negative x.

    float64's power decides the rounding, except where an error of 2**-40 would change it: there the exact tier does.
    Squares, which meet midpoints often, are products.
    """
    x, y = np.broadcast_arrays(x, y)
    with np.errstate(all="ignore"):
        near = np.power(x.astype(np.float64), y.astype(np.float64))
        low, high, rounded = ((near * (1 + error)).astype(np.float32) for error in (-_DOUBT, _DOUBT, 0))
    result = np.where(y == 2, multiply(x, x), one_nan(rounded))
    for place in zip(*np.nonzero((low != high) & ~np.isnan(near) & (y != 2)), strict=True):
        code = exact_power(*(int(each[place].view(np.uint32)) for each in (x, y)))
        result[place] = np.uint32(code).view(np.float32)
    return result


__all__ = [
    "NAN",
    "absolute",
    "absolute_maximum",
    "absolute_minimum",
    "add",
    "divide",
    "maximum",
    "minimum",
    "multiply",
    "one_nan",
    "read",
    "reciprocal",
    "reciprocal_square_root",
    "square_root",
    "subtract",
    "write",
]

add = operation(np.add)
subtract = operation(np.subtract)
multiply = operation(np.multiply)
divide = operation(np.divide)
absolute = operation(np.abs)
"""Sum, difference, product and quotient, each rounded once to FP32, and x without its sign."""


@operation
def maximum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the larger one, +0 of zeros of different signs; NaN where either is NaN."""
    return _where_equal(x, y, np.maximum(x, y), np.bitwise_and)


@operation
def minimum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the smaller one, -0 of zeros of different signs; NaN where either is NaN."""
    return _where_equal(x, y, np.minimum(x, y), np.bitwise_or)


@operation
def absolute_maximum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the operand of larger magnitude with its sign, y of equal ones; NaN where either is NaN."""
    return np.where(np.isnan(x), x, np.where(np.abs(x) > np.abs(y), x, y))


@operation
def absolute_minimum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the operand of smaller magnitude with its sign, y of equal ones; NaN where either is NaN."""
    return np.where(np.isnan(x), x, np.where(np.abs(x) < np.abs(y), x, y))


def read(array: np.ndarray) -> np.ndarray:
    """Return the values of an array of any floating-point dtype of the catalogue as float32, which holds them all."""
    fmt = format_of(array.dtype)
    if fmt is FP32:
        return one_nan(array)
    if fmt is BF16:  # the upper half of FP32's code
        return one_nan((codes_of(array).astype(np.uint32) << 16).view(np.float32))
    return one_nan(decode_array(fmt, codes_of(array)).astype(np.float32))


def write(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Round float32 values to a dtype, to nearest even; beyond its range infinity, or NaN where it has none."""
    fmt = format_of(dtype)
    if fmt is FP32:
        return one_nan(values)
    return encode_array(fmt, values, dtype=np.dtype(f"u{np.dtype(dtype).itemsize}")).view(dtype)


def _where_equal(x: np.ndarray, y: np.ndarray, otherwise: np.ndarray, choose: np.ufunc) -> np.ndarray:
    """Take the bitwise choice of equal numbers, which differ in nothing but the sign of zero."""
    bits = choose(np.asarray(x).view(np.uint32), np.asarray(y).view(np.uint32))
    return np.where(x == y, bits.view(np.float32), otherwise)
