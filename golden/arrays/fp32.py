"""Reciprocal and roots of float32 arrays, each rounded once to nearest even, subnormals kept.

Bit-identical to `bitpath.golden.scalar.fp32`. numpy's float32 quotient and square root are IEEE 754's. numpy leaves the bits
of NaN open; they are fixed here.
"""

from collections.abc import Callable
from functools import wraps

import numpy as np

from bitpath.golden.formats.catalogue import FP32

NAN = np.uint32(FP32.nan_code).view(np.float32)
"""The one NaN."""


def one_nan(values: np.ndarray) -> np.ndarray:
    """Return float32 values with every NaN replaced by the one; the values themselves where there is none."""
    nan = np.isnan(values)
    return np.where(nan, NAN, values) if nan.any() else values


def operation(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Silence numpy's floating-point warnings, which are results here, and make NaN the one NaN."""

    @wraps(function)
    def silent(*operands: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return one_nan(function(*operands))

    return silent


square_root = operation(np.sqrt)


@operation
def reciprocal(x: np.ndarray) -> np.ndarray:
    """Return 1 / x, rounded once to FP32."""
    return np.float32(1) / x


@operation
def reciprocal_square_root(x: np.ndarray) -> np.ndarray:
    """Return 1 / sqrt(x), rounded once.

    Root and quotient in float64 are within 2**-51 of the exact value, which leaves its rounding to FP32 in doubt only
    next to a midpoint. No argument comes that near one: results are normal numbers, so the 2**24 significands of two
    neighbouring binades represent all. A test checks each of them with integers, as for `reciprocal` and `square_root`.
    """
    return (1.0 / np.sqrt(x.astype(np.float64))).astype(np.float32)
