"""Accumulation in L1 on single datums, with exact sums.

Ref: ttsim v1.10.0; the documents only say that it exists.
"""

import sys
from fractions import Fraction

from bitpath.golden.formats.catalogue import BF16, FP16, FP32, FloatFormat
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.fp32 import add
from bitpath.golden.scalar.rounding import floor_log2, round_to_format
from bitpath.golden.tensix.declarations.formats import Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics

LARGEST_FP64 = Fraction(sys.float_info.max)


@checked
def add_to_l1(numerics: TensixNumerics, old: int, new: int, fmt: Format) -> int:
    """Add two codes of FP32, BF16 or FP16, to nearest even."""
    match fmt:
        case Format.FP32:
            return _add_fp32(old, new)
        case Format.BF16:
            return _add_bf16(old, new)
        case _:
            return _add_fp16(numerics, old, new)


def _flush(code: int, fmt: FloatFormat) -> int:
    return code & fmt.sign_mask if code & ~fmt.sign_mask <= fmt.fraction_mask else code


def _add_fp32(old: int, new: int) -> int:
    return _flush(add(_flush(old, FP32), _flush(new, FP32)), FP32)


def _add_bf16(old: int, new: int) -> int:
    """Infinities first; then an old NaN is the largest number of FP64, and a new NaN is 1.m * 2**128."""
    infinite = [code & 0x7FFF == BF16.infinity_code for code in (old, new)]
    if all(infinite):
        return old if old == new else BF16.nan_code
    for code, is_infinite in ((old, infinite[0]), (new, infinite[1])):
        if is_infinite:
            return code
    augend, addend = _number(old, BF16), _number(new, BF16)
    if old & 0x7FFF > BF16.infinity_code:
        augend = LARGEST_FP64 if augend > 0 else -LARGEST_FP64
    return _flush(round_to_format(augend + addend, BF16, zero_sign=(old & new) >> 15), BF16)


def _number(code: int, fmt: FloatFormat) -> Fraction:
    """Return a code's number; the largest exponent is ordinary, and exponent 0 is zero."""
    exponent = code >> fmt.fraction_bits & fmt.exponent_mask
    significand = (code & fmt.fraction_mask) + (1 << fmt.fraction_bits)
    magnitude = significand * Fraction(2) ** (exponent - fmt.bias - fmt.fraction_bits) if exponent else Fraction(0)
    return -magnitude if code & fmt.sign_mask else magnitude


def _add_fp16(numerics: TensixNumerics, old: int, new: int) -> int:
    total = _number(old, FP16) + _number(new, FP16)
    if total == 0:
        saturates = numerics.l1_fp16_underflow_saturates and old >> 10 & 0x1F >= 30
        return 0x7FFF if saturates else old & new & 0x8000
    sign = 0x8000 if total < 0 else 0
    exponent = floor_log2(total)
    significand = round(abs(total) / Fraction(2) ** (exponent - 10))
    # After a rounding carry the fraction bits are already 0.
    exponent += significand == 1 << 11
    biased = exponent + 15
    if biased > 31 or (biased < 0 and numerics.l1_fp16_underflow_saturates):
        return sign | 0x7FFF
    return sign if biased <= 0 else sign | biased << 10 | significand & 0x3FF
