"""The packers' accumulation in L1: old + new, to nearest even, where the Matrix unit rounds ties away.

Ref: ttsim v1.10.0; the documents only say that it exists.
"""

import numpy as np

from bitpath.golden.arrays.codec import decode_array, encode_array
from bitpath.golden.arrays.rounding import shift_round
from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.tensix.declarations.formats import Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics

ACCUMULATING_FORMATS = (Format.FP32, Format.BF16, Format.FP16)
CANCELLATION_EXPONENT = 30
"""Biased FP16 exponent from which on an exact cancellation gives the largest number."""


def add_to_l1(numerics: TensixNumerics, old: np.ndarray, new: np.ndarray, fmt: Format) -> np.ndarray:
    """Add int64 codes of one of `ACCUMULATING_FORMATS`."""
    match fmt:
        case Format.FP32:
            return _add_fp32(old, new)
        case Format.BF16:
            return _add_bf16(old, new)
        case _:
            return _add_fp16(numerics, old, new)


def _add_fp32(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """IEEE addition with denormals read and written as zeros of their sign.

    float64 holds the sum of two FP32 numbers with 53 bits, more than twice 24 and two, so that rounding it again to FP32
    gives the same as rounding the exact sum.
    """
    x, y = (decode_array(FP32, np.where(each >> 23 & 0xFF == 0, each >> 31 << 31, each)) for each in (old, new))
    with np.errstate(invalid="ignore"):
        code = encode_array(FP32, x + y)
    return np.where(code >> 23 & 0xFF == 0, code >> 31 << 31, code)


def _add_bf16(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """IEEE addition with denormals read and written as zeros of their sign, and NaN as a number.

    An old NaN is the largest number of FP64, so that it overflows unless the new value is infinite; a new NaN is 1.m * 2**128.
    """
    values, infinite = [], []
    for code in (old, new):
        exponent, fraction = code >> 7 & 0xFF, code & 0x7F
        magnitude = np.ldexp(np.where(exponent == 0, 0, fraction + 128).astype(np.float64), exponent - 134)
        infinite.append((exponent == 255) & (fraction == 0))
        values.append(np.where(code >> 15 == 1, -magnitude, magnitude))
    old_nan = old & 0x7FFF > BF16.infinity_code
    values[0] = np.where(old_nan, np.copysign(np.finfo(np.float64).max, values[0]), values[0])
    # Like _add_fp32: 53 bits are more than twice 8 and two.
    code = encode_array(BF16, values[0] + values[1])
    code = np.where(code >> 7 & 0xFF == 0, code >> 15 << 15, code)
    code = np.where(infinite[1], new, np.where(infinite[0], old, code))
    return np.where(infinite[0] & infinite[1] & (old != new), BF16.nan_code, code)


def _add_fp16(numerics: TensixNumerics, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Addition without infinity and NaN; where the hardware's oddities are on, underflow becomes the largest number."""
    exponents = [each >> 10 & 0x1F for each in (old, new)]
    # In units of 2**-10 at biased exponent 1; a zero exponent is zero.
    values = []
    for code, exponent in zip((old, new), exponents, strict=True):
        magnitude = np.where(exponent == 0, 0, (code & 0x3FF | 1 << 10) << np.maximum(exponent - 1, 0))
        values.append(np.where(code >> 15 == 1, -magnitude, magnitude))
    total = values[0] + values[1]
    # frexp counts the bits exactly: sums are below 2**43.
    shift = np.frexp(total.astype(np.float64))[1].astype(np.int64) - 11
    significand = np.abs(shift_round(total << np.maximum(-shift, 0), np.maximum(shift, 0), Rounding.RNE))
    carry = significand >> 11
    biased = shift + 1 + carry
    sign = (total < 0).astype(np.int64) << 15
    code = sign | np.where(biased > 31, 0x7FFF, biased << 10 | significand & 0x3FF)
    code = np.where(biased <= 0, sign, code)
    # A zero sum is -0 where both are negative.
    code = np.where(total == 0, old & new & 0x8000, code)
    if numerics.l1_fp16_underflow_saturates:
        code = np.where((total != 0) & (biased < 0), sign | 0x7FFF, code)
        cancelled = (total == 0) & (exponents[0] >= CANCELLATION_EXPONENT)
        code = np.where(cancelled, 0x7FFF, code)
    return code
