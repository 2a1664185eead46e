"""FP32 arithmetic on scalars: each operation is its exact value, rounded once to nearest even.

Codes in, codes out. Subnormals are kept on both sides; every NaN that comes out is 0x7FC00000, whichever came in. This
is IEEE 754 with one NaN and without flags.

Ref: IEEE 754-2019, sections 5.4.1 (the four operations), 9.2.1 (rSqrt) and 9.6 (maximum, minimum).
"""

from fractions import Fraction
from math import floor, isqrt

from bitpath.golden.formats.catalogue import FP32, FloatFormat, Rounding
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import Kind, Overflow, decode, overflow_code
from bitpath.golden.scalar.rounding import product, round_to_format, rounded_sum, term

_ONE = FP32.bias << FP32.fraction_bits
_ROOT_BITS = 200
"""Fraction bits of a root before its rounding. The smallest root is 2**-75: 125 bits, of which FP32 needs 25."""


@checked
def add(x: int, y: int) -> int:
    """Return x + y; infinities of different signs give NaN, zeros of different signs +0."""
    return rounded_sum([term(decode(FP32, x)), term(decode(FP32, y))])


@checked
def multiply(x: int, y: int) -> int:
    """Return x * y; 0 times infinity gives NaN."""
    return rounded_sum([product(decode(FP32, x), decode(FP32, y))])


@checked
def divide(x: int, y: int) -> int:
    """Return x / y; 0 / 0 and infinity / infinity give NaN, other numbers by zero infinity; signs as in a product."""
    a, b = decode(FP32, x), decode(FP32, y)
    sign = a.sign ^ b.sign
    kinds = (a.kind, b.kind)
    if Kind.NAN in kinds or (a.is_zero and b.is_zero) or kinds == (Kind.INFINITY, Kind.INFINITY):
        return FP32.nan_code
    if a.kind is Kind.INFINITY or b.is_zero:
        return _infinity(sign)
    quotient = Fraction(0) if b.kind is Kind.INFINITY else a.value / b.value
    return round_to_format(quotient, FP32, zero_sign=sign)


@checked
def reciprocal(x: int) -> int:
    """Return 1 / x: infinity of the sign for a zero, zero of the sign for an infinity.

    The smallest subnormals overflow to infinity, and the largest numbers give subnormals.
    """
    return divide(_ONE, x)


@checked
def square_root(x: int) -> int:
    """Return sqrt(x): a zero keeps its sign, other negative numbers give NaN."""
    a = decode(FP32, x)
    if a.is_zero:
        return x
    if a.kind is Kind.NAN or a.sign:
        return FP32.nan_code
    return FP32.infinity_code if a.kind is Kind.INFINITY else _round_root(a.value)


@checked
def reciprocal_square_root(x: int) -> int:
    """Return 1 / sqrt(x), rounded once: infinity of the sign for a zero, +0 for infinity, NaN below zero."""
    a = decode(FP32, x)
    if a.is_zero:
        return _infinity(a.sign)
    if a.kind is Kind.NAN or a.sign:
        return FP32.nan_code
    return 0 if a.kind is Kind.INFINITY else _round_root(1 / a.value)


@checked
def maximum(x: int, y: int) -> int:
    """Return the larger of two numbers; NaN where either is NaN, and +0 of zeros of different signs."""
    return _select(x, y, larger=True)


@checked
def minimum(x: int, y: int) -> int:
    """Return the smaller of two numbers; NaN where either is NaN, and -0 of zeros of different signs."""
    return _select(x, y, larger=False)


@checked
def absolute(x: int) -> int:
    """Return x without its sign."""
    return FP32.nan_code if decode(FP32, x).kind is Kind.NAN else x & ~FP32.sign_mask


@checked
def convert(
    code: int,
    source: FloatFormat,
    destination: FloatFormat,
    rounding: Rounding = Rounding.RNE,
    *,
    overflow: Overflow = Overflow.SPECIAL,
) -> int:
    """Return a code of one format as a code of another, rounded once.

    Parameters
    ----------
    code : a code of `source`.
    rounding : RNE or RTZ.
    overflow : result for infinity, and for a number above the largest after rounding: infinity (NaN in a format without
        infinity), or the largest number.

    Raises
    ------
    ValueError : `destination` has no code for it.
    """
    x = decode(source, code)
    match x.kind:
        case Kind.FINITE:
            return round_to_format(x.value, destination, rounding, overflow=overflow, zero_sign=x.sign)
        case Kind.NAN:
            if destination.nan_code is None:
                raise ValueError(f"code is a NaN, which {destination.name} cannot express")
            return destination.nan_code
    magnitude = overflow_code(destination, overflow)
    # A NaN has no sign.
    return magnitude | (destination.sign_mask if x.sign and magnitude != destination.nan_code else 0)


def _infinity(sign: int) -> int:
    return FP32.infinity_code | (FP32.sign_mask if sign else 0)


def _round_root(value: Fraction) -> int:
    """Round the root of a positive fraction.

    The integer root leaves a remainder or it does not. If it does, half a unit of it is added: that lies strictly
    between two neighbouring integers, as the exact root does, so no rounding to fewer bits can tell the two apart.
    """
    scaled = value * 4**_ROOT_BITS
    root = Fraction(isqrt(floor(scaled)))
    if root * root != scaled:
        root += Fraction(1, 2)
    return round_to_format(root / 2**_ROOT_BITS, FP32)


def _select(x: int, y: int, *, larger: bool) -> int:
    if Kind.NAN in (decode(FP32, x).kind, decode(FP32, y).kind):
        return FP32.nan_code
    return x if (_rank(x) > _rank(y)) is larger else y


def _rank(code: int) -> int:
    """Number the codes in the order of their values, -0 just below +0 and infinities outermost."""
    return -1 - (code & ~FP32.sign_mask) if code & FP32.sign_mask else code
