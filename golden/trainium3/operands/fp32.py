"""FP32 arithmetic of the engines on arrays, and how operands are read and results written.

Bit-identical to `bitpath.golden.scalar.fp32`. numpy's float32 sum, product, quotient and square root are IEEE 754's, each
rounded once to nearest even with subnormals. numpy leaves the bits of NaN open; they are fixed here. Casts go through
the codec's rounder.
"""

from collections.abc import Callable
from functools import wraps

import numpy as np

from bitpath.golden.arrays.codec import codes_of, decode_array, encode_array, format_of
from bitpath.golden.formats.catalogue import BF16, FP32

NAN = np.uint32(FP32.nan_code).view(np.float32)
"""The one NaN."""


def one_nan(values: np.ndarray) -> np.ndarray:
    """Return float32 values with every NaN replaced by the one; the values themselves where there is none."""
    nan = np.isnan(values)
    return np.where(nan, NAN, values) if nan.any() else values


def _operation(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Silence numpy's floating-point warnings, which are results here, and make NaN the one NaN."""

    @wraps(function)
    def operation(*operands: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return one_nan(function(*operands))

    return operation


add = _operation(np.add)
subtract = _operation(np.subtract)
multiply = _operation(np.multiply)
divide = _operation(np.divide)
square_root = _operation(np.sqrt)
absolute = _operation(np.abs)
"""Sum, difference, product, quotient and root, each rounded once to FP32, and x without its sign."""


@_operation
def reciprocal(x: np.ndarray) -> np.ndarray:
    """Return 1 / x, rounded once to FP32."""
    return np.float32(1) / x


@_operation
def reciprocal_square_root(x: np.ndarray) -> np.ndarray:
    """Return 1 / sqrt(x), rounded once.

    Root and quotient in float64 are within 2**-51 of the exact value, which leaves its rounding to FP32 in doubt only
    next to a midpoint. No argument comes that near one: results are normal numbers, so the 2**24 significands of two
    neighbouring binades represent all. A test checks each of them with integers, as for `reciprocal` and `square_root`.
    """
    return (1.0 / np.sqrt(x.astype(np.float64))).astype(np.float32)


@_operation
def maximum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the larger one, +0 of zeros of different signs; NaN where either is NaN."""
    return _where_equal(x, y, np.maximum(x, y), np.bitwise_and)


@_operation
def minimum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the smaller one, -0 of zeros of different signs; NaN where either is NaN."""
    return _where_equal(x, y, np.minimum(x, y), np.bitwise_or)


@_operation
def absolute_maximum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the operand of larger magnitude with its sign, y of equal ones; NaN where either is NaN."""
    return np.where(np.isnan(x), x, np.where(np.abs(x) > np.abs(y), x, y))


@_operation
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
