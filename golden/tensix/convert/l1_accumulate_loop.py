"""The packers' accumulation in L1 on one pair of codes, compiled: old + new, to nearest even.

Additions of float32 and float64 are IEEE's. A float64 sum of BF16 or FP16 numbers has more than twice their bits and two, so
that rounding it again gives the same as rounding the exact sum.
"""

import numpy as np

from bitpath.golden.arrays.bits import code64, magnitude_code, value64
from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.tensix.declarations.formats import Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics

FP32_NAN, BF16_NAN, BF16_INFINITY = FP32.nan_code, BF16.nan_code, BF16.infinity_code
BF16_EMIN, BF16_BIAS, FP16_BIAS = BF16.emin, BF16.bias, FP16.bias
LARGEST_FP64 = (2047 << 52) - 1
"""Code of the largest finite number of float64."""
FP16_LARGEST = 0x7FFF
CANCELLATION_EXPONENT = 30
"""Biased FP16 exponent from which on an exact cancellation gives the largest number."""
LOWEST_EXPONENT = -32
"""Below the exponent of any sum of FP16 numbers, which have no denormals."""


@piece
def _flush_denormal(code, exponent, sign):
    return code if code & exponent else np.uint32(code & sign)


@piece
def _value32(code):
    return np.uint32(code).view(np.float32)


@piece
def _add_fp32(old, new):
    """IEEE addition with denormals read and written as zeros of their sign."""
    total = _value32(_flush_denormal(old, 0x7F800000, 1 << 31)) + _value32(_flush_denormal(new, 0x7F800000, 1 << 31))
    code = _flush_denormal(np.float32(total).view(np.uint32), 0x7F800000, 1 << 31)
    return np.uint32(FP32_NAN) if code & 0x7FFFFFFF > 0x7F800000 else code


@piece
def _value(code, fraction_bits, exponent_bits, bias):
    """Return a code's number, float64; the largest exponent is ordinary, and exponent 0 is zero."""
    exponent = np.int64(code >> fraction_bits) & (1 << exponent_bits) - 1
    fraction = np.int64(code) & (1 << fraction_bits) - 1
    sign = np.int64(code >> fraction_bits + exponent_bits) << 63
    normal = exponent + 1023 - bias << 52 | fraction << 52 - fraction_bits
    return value64(sign | (normal if exponent else np.int64(0)))


@piece
def _add_bf16(old, new):
    """IEEE addition with denormals read and written as zeros of their sign, and NaN as a number.

    An old NaN is the largest number of FP64, so that it overflows unless the new value is infinite; a new NaN is 1.m * 2**128.
    """
    augend = _value(old, 7, 8, BF16_BIAS)
    largest = value64(LARGEST_FP64 | np.int64(old >> 15) << 63)
    total = code64((largest if old & 0x7FFF > BF16_INFINITY else augend) + _value(new, 7, 8, BF16_BIAS))
    magnitude = min(magnitude_code(total, 7, BF16_EMIN, BF16_BIAS, 1), np.int64(BF16_INFINITY))
    code = (magnitude if magnitude >> 7 else np.int64(0)) | (total < 0) << 15
    code = np.int64(old) if old & 0x7FFF == BF16_INFINITY else code
    opposite = (old & 0x7FFF == BF16_INFINITY) & (old ^ new == 0x8000)
    code = np.int64(new) if new & 0x7FFF == BF16_INFINITY else code
    return np.uint32(BF16_NAN if opposite else code)


@piece
def _add_fp16(old, new, saturates):
    """Addition without infinity and NaN; with `saturates`, an underflow becomes the largest number."""
    total = _value(old, 10, 5, FP16_BIAS) + _value(new, 10, 5, FP16_BIAS)
    code = magnitude_code(code64(total), 10, LOWEST_EXPONENT, FP16_BIAS, 1)
    too_small = (code < 0) & (saturates != 0)
    code = FP16_LARGEST if (code > FP16_LARGEST) | too_small else code
    code = (code if code >> 10 > 0 else 0) | (total < 0.0) << 15
    cancelled = (saturates != 0) & (old >> 10 & 0x1F >= CANCELLATION_EXPONENT)
    # A zero sum is -0 where both are negative.
    nothing = np.int64(FP16_LARGEST if cancelled else old & new & 0x8000)
    return np.uint32(nothing if total == 0.0 else code)


@kernel
def _fp32(old, new):
    for i in range(new.shape[0]):
        new[i] = _add_fp32(old[i], new[i])


@kernel
def _bf16(old, new):
    for i in range(new.shape[0]):
        new[i] = _add_bf16(old[i], new[i])


@kernel
def _fp16(old, new, saturates):
    for i in range(new.shape[0]):
        new[i] = _add_fp16(old[i], new[i], saturates)


def add_to_l1(numerics: TensixNumerics, old: np.ndarray, new: np.ndarray, fmt: Format) -> None:
    """Add old codes of one of `ACCUMULATING_FORMATS` to new ones, in place."""
    match fmt:
        case Format.FP32:
            _fp32(old, new)
        case Format.BF16:
            _bf16(old, new)
        case _:
            _fp16(old, new, numerics.l1_fp16_underflow_saturates)
