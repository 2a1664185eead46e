"""Operators of ScalarE's and VectorE's instructions: FP32, of bits, and GpSimd's on 32-bit integers."""

from collections.abc import Callable, Mapping

import numpy as np

from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.operands.power import power

Unary = Callable[[np.ndarray], np.ndarray]
Binary = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _truth(function: Binary) -> Binary:
    """Return a comparison as float32 1.0 and 0.0."""
    return lambda x, y: function(x, y).astype(np.float32)


def _logical(function: Binary) -> Binary:
    """Return a logical operator on "not zero", which NaN is, as float32 1.0 and 0.0."""
    return _truth(lambda x, y: function(x != 0, y != 0))


OPERATORS: Mapping[str, Binary] = {
    "add": fp32.add,
    "subtract": fp32.subtract,
    "multiply": fp32.multiply,
    "max": fp32.maximum,
    "min": fp32.minimum,
    "abs_max": fp32.absolute_maximum,
    "abs_min": fp32.absolute_minimum,
    "equal": _truth(np.equal),
    "not_equal": _truth(np.not_equal),
    "greater": _truth(np.greater),
    "greater_equal": _truth(np.greater_equal),
    "less": _truth(np.less),
    "less_equal": _truth(np.less_equal),
    "logical_and": _logical(np.logical_and),
    "logical_or": _logical(np.logical_or),
    "logical_xor": _logical(np.logical_xor),
}
"""Of two FP32 numbers one, rounded once."""
UNARY: Mapping[str, Unary] = {
    "abs": fp32.absolute,
    "logical_not": lambda x: (x == 0).astype(np.float32),
    "square": lambda x: fp32.multiply(x, x),
    "relu": lambda x: np.where(np.signbit(x) & ~np.isnan(x), np.float32(0), x),
    "rsqrt": fp32.reciprocal_square_root,
    "reciprocal": fp32.reciprocal,
}
"""Of an FP32 number another, rounded once."""


def _shift(function: Binary) -> Binary:
    """Return a shift of unsigned words that gives 0 for a count of their width or more; numpy's does so on no platform."""

    def shift(x: np.ndarray, count: np.ndarray) -> np.ndarray:
        width = 8 * x.dtype.itemsize
        return np.where(count < width, function(x, count % x.dtype.type(width)), x.dtype.type(0))

    return shift


BIT_OPERATORS: Mapping[str, Binary] = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "left_shift": _shift(np.left_shift),
    "right_shift": _shift(np.right_shift),
}
"""Of two unsigned words of one size a third; "right_shift" is logical."""
BIT_NOT = "bitwise_not"
GPSIMD_OPERATORS: Mapping[str, Binary] = {"power": power}
"""Of two FP32 numbers one, rounded once, on GpSimd alone."""
INTEGER_OPERATORS: Mapping[str, Binary] = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply}
"""GpSimd's on 32-bit words, modulo 2**32."""
