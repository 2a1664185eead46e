"""Reciprocal and roots of float32 arrays, each rounded once to nearest even, subnormals kept.

Results are bit-identical to `bitpath.golden.scalar.fp32`. numpy's float32 quotient and square root are IEEE 754's. numpy leaves the bits
of NaN open; they are fixed here.
"""

from collections.abc import Callable
from functools import wraps

import numpy as np

from bitpath.golden.formats.catalogue import FP32, Rounding

# Right shifts that round, on arrays of integers.


def shift_round(values: np.ndarray, shift: np.ndarray | int, mode: Rounding) -> np.ndarray:
    """Divide signed integers by ``2**shift`` and round; any mode but SR.

    Parameters
    ----------
    values : int64 or int32 of any shape.
    shift : 0 to the bits of the dtype less 1.
    """
    shift = np.asarray(shift, values.dtype)
    below = values >> shift
    match mode:
        case Rounding.RTD:
            return below
        case Rounding.RNE:
            up = below & 1
        case Rounding.RNO:
            up = ~below & 1
        case Rounding.RNA | Rounding.RTA:
            up = values >= 0
        case Rounding.RNZ | Rounding.RTZ:
            up = values < 0
        case Rounding.RNU | Rounding.RTU:
            up = True
        case Rounding.RND:
            up = False
        case _:
            raise ValueError(f"mode must not be {mode.name}")
    discarded = values - (below << shift)
    if not mode.to_nearest:
        return below + ((discarded > 0) & up)
    # Without a shift `half` is 1 and nothing is discarded, so that nothing goes up.
    half = values.dtype.type(1) << np.maximum(shift - 1, 0)
    return below + (discarded > half - up)


NAN = np.uint32(FP32.nan_code).view(np.float32)
"""The one NaN."""


def one_nan(values: np.ndarray) -> np.ndarray:
    """Return float32 values with every NaN replaced by NaN 0x7FC00000; return the same array if it has no NaN."""
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
