"""Reductions along a tile's free dimension, one FP32 number for each partition.

Sums are added in FP32 from the first element on, or exactly with one rounding; which of them the machine does no document
states, so every sum names its order. Products are rounded to FP32 from the first element on.

Bit-identical to `bitpath.golden.trainium3.exact.reduce_row`.
"""

from typing import Literal

import numpy as np

from bitpath.golden.arrays.arguments import check_choice
from bitpath.golden.arrays.codec import encode_array
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.vector import SumOrder
from bitpath.golden.trainium3.operands import fp32

SumOrderName = Literal["serial", "exact"]
REDUCTIONS = {
    "max": fp32.maximum,
    "min": fp32.minimum,
    "abs_max": fp32.absolute_maximum,
    "abs_min": fp32.absolute_minimum,
}
"""Reductions besides "add" and "multiply".

"abs_max" and "abs_min" keep the sign of the element that they take, the last of equal magnitudes.
"""
IDENTITIES = {"add": 0.0, "multiply": 1.0, "max": -np.inf, "min": np.inf, "abs_max": 0.0, "abs_min": np.inf}
"""Numbers to which a reset sets the registers that a row is reduced onto, by reduction."""
_BINS = FP32.exponent_mask
"""Biased exponents of finite numbers."""


def check_reduction(name: str, op: str) -> None:
    """Raise TypeError or ValueError unless a reduction is one of VectorE's."""
    check_choice(name, op, IDENTITIES)


def reduce_free(values: np.ndarray, op: str, order: SumOrder) -> np.ndarray:
    """Reduce float32 [P, F] to [P, 1]; `order` is that of a sum."""
    if op == "multiply":
        return _serial(np.multiply, values)[:, np.newaxis]
    if op == "add":
        return (serial_sum if order is SumOrder.SERIAL else exact_sum)(values)[:, np.newaxis]
    # Halves are combined, which is the same in any order but for equal magnitudes; those keep theirs.
    while values.shape[1] > 1:
        odd = values[:, values.shape[1] & ~1 :]
        values = np.hstack([REDUCTIONS[op](values[:, :-1:2], values[:, 1::2]), odd])
    return values


def reduce_onto(registers: np.ndarray, values: np.ndarray, op: str, order: SumOrder = SumOrder.SERIAL) -> np.ndarray:
    """Reduce float32 [P, F] onto registers [P, 1]; return these after it."""
    return reduce_free(np.hstack([registers, values]), op, order)


def serial_sum(values: np.ndarray) -> np.ndarray:
    """Add float32 [P, F] along F, element after element, rounding every sum to FP32."""
    return _serial(np.add, values)


def _serial(function: np.ufunc, values: np.ndarray) -> np.ndarray:
    """Apply a function to the result so far and the next element, along F, rounding every result to FP32.

    An accumulation keeps every partial result, so numpy can neither reorder nor widen it.
    """
    with np.errstate(all="ignore"):
        return fp32.one_nan(function.accumulate(values, axis=1, dtype=np.float32)[:, -1])


def exact_sum(values: np.ndarray) -> np.ndarray:
    """Add float32 [P, F] along F exactly, and round once to FP32; a zero sum is +0 unless every element is -0.

    Significands are integers of 24 bits. Those of one biased exponent are added in float64, exactly up to 2**29 of them;
    the 255 sums of a row are put together as an integer.
    """
    codes = values.view(np.uint32).astype(np.int64)
    biased = codes >> FP32.fraction_bits & FP32.exponent_mask
    finite = biased < _BINS
    significand = (codes & FP32.fraction_mask) + np.where(biased > 0, 1 << FP32.fraction_bits, 0)
    signed = np.where(finite, np.where(codes & FP32.sign_mask, -significand, significand), 0)
    rows = np.arange(values.shape[0])[:, np.newaxis]
    bins = np.bincount(
        (rows * _BINS + np.where(finite, biased, 0)).ravel(), signed.ravel().astype(np.float64), _BINS * len(rows)
    ).reshape(-1, _BINS)
    totals = np.array([_to_odd(row) for row in bins])
    with np.errstate(invalid="ignore"):
        special = np.where(finite, np.float32(0), values).sum(axis=1, dtype=np.float32)  # infinity or NaN, 0 if finite
    negative_zero = (codes == FP32.sign_mask).all(axis=1)
    rounded = encode_array(FP32, np.where(negative_zero, -0.0, totals)).astype(np.uint32).view(np.float32)
    return fp32.one_nan(np.where(special == 0, rounded, special))


def _to_odd(row: np.ndarray) -> float:
    """Put sums by biased exponent together as a float64, its last bit 1 where it is not exact, so that it rounds right."""
    # Subnormals weigh as much as the numbers of biased exponent 1.
    total = sum(int(row[biased]) << max(biased, 1) for biased in np.flatnonzero(row).tolist())
    dropped = max(total.bit_length() - 53, 0)
    kept = abs(total) >> dropped
    kept |= abs(total) != kept << dropped
    value = np.ldexp(float(kept), dropped - FP32.bias - FP32.fraction_bits)
    return float(-value if total < 0 else value)
