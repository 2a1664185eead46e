"""Accumulation in L1 on single datums, with exact sums.

Ref: ttsim v1.10.0; the documents only say that it exists.
"""

from fractions import Fraction

from bitpath.golden.formats.catalogue import BF16, FP32, FloatFormat
from bitpath.golden.scalar.fp32 import add
from bitpath.golden.scalar.rounding import floor_log2, round_to_format
from bitpath.golden.tensix.declarations.formats import Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics


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
    infinite = [code & 0x7FFF == BF16.infinity_code for code in (old, new)]
    if all(infinite):
        return old if old == new else BF16.nan_code
    for code, is_infinite in ((old, infinite[0]), (new, infinite[1])):
        if is_infinite:
            return code
    total, zero_sign = Fraction(0), 1
    for code in (old, new):
        sign, exponent, significand = code >> 15, code >> 7 & 0xFF, code & 0x7F | 0x80
        total += (-1) ** sign * significand * Fraction(2) ** (exponent - 134) if exponent else 0
        zero_sign &= sign
    return _flush(round_to_format(total, BF16, zero_sign=zero_sign), BF16)


def _add_fp16(numerics: TensixNumerics, old: int, new: int) -> int:
    total = Fraction(0)
    for code in (old, new):
        sign, exponent, significand = code >> 15, code >> 10 & 0x1F, code & 0x3FF | 0x400
        total += (-1) ** sign * significand * Fraction(2) ** (exponent - 25) if exponent else 0
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
