"""x to the power of y in FP32, rounded once, in unbounded integers.

Ref: IEEE 754-2019, section 9.2.1 (pow), for zeros, infinities, NaN and negative x.
"""

from fractions import Fraction
from math import isqrt

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import Kind, decode, scaled
from bitpath.golden.scalar.rounding import floor_log2, round_to_format

ONE = FP32.bias << FP32.fraction_bits
_FIRST_BITS = 256
"""Fraction bits of the first try; a power that near to a midpoint is decided with twice as many."""
_ERROR_BITS = 48
"""The last bits of a power that may be wrong.

A logarithm has 9 such bits. Where x**y is within FP32, y has at most 32 bits, as no x but 1 is nearer to 1 than 2**-24.
That makes 41; the other steps add 2**18 units at most.
"""


@checked
def power(x: int, y: int) -> int:
    """Return the FP32 code of x to the power of y, of two FP32 codes.

    Any x to the power of 0, and 1 to the power of any y, are 1, NaN included. A negative x has powers for integers y only;
    their sign is x's for odd ones.
    """
    a, b = decode(FP32, x), decode(FP32, y)
    if b.is_zero or x == ONE:
        return ONE
    if Kind.NAN in (a.kind, b.kind):
        return FP32.nan_code
    if b.kind is Kind.INFINITY:
        if x & ~FP32.sign_mask == ONE:
            return ONE
        return FP32.infinity_code if (x & ~FP32.sign_mask > ONE) is not bool(b.sign) else 0
    whole = b.value.denominator == 1
    sign = FP32.sign_mask if a.sign and whole and b.value.numerator % 2 else 0
    if a.is_zero or a.kind is Kind.INFINITY:
        return sign | (FP32.infinity_code if a.is_zero is bool(b.sign) else 0)
    if a.sign and not whole:
        return FP32.nan_code
    return sign | _positive(abs(a.value), b.value)


def _positive(x: Fraction, y: Fraction) -> int:
    """Return the code of x**y for x above 0."""
    exact = _of_few_bits(x, y)
    if exact is not None:
        return round_to_format(exact, FP32)
    bits = _FIRST_BITS
    while True:
        low, high = (round_to_format(each, FP32) for each in _bounds(x, y, bits))
        if low == high:
            return low
        bits *= 2


def _of_few_bits(x: Fraction, y: Fraction) -> Fraction | None:
    """Return x**y where it is a number of at most 26 bits or a power of two, the only ones that can be a midpoint."""
    odd, exponent = x.numerator, -floor_log2(Fraction(x.denominator))
    while odd % 2 == 0:
        odd, exponent = odd // 2, exponent + 1
    n, root = y.numerator, y.denominator
    if odd == 1:
        power_of_two = exponent * y
        if power_of_two.denominator > 1 or abs(power_of_two) > 1 << FP32.exponent_bits:
            return None
        return scaled(1, power_of_two.numerator)
    while root > 1:
        half = isqrt(odd)
        if half * half != odd or exponent % 2:
            return None
        odd, exponent, root = half, exponent // 2, root // 2
    if n < 0 or n * (odd.bit_length() - 1) > FP32.precision + 1:
        return None
    return scaled(odd**n, exponent * n)


def _bounds(x: Fraction, y: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Return numbers below and above x**y, from so many fraction bits; equal ones beyond FP32 where it is far beyond."""
    binade = floor_log2(x)
    ln2 = _logarithm(Fraction(2), bits)
    exponent = round((_logarithm(x / scaled(1, binade), bits) + binade * ln2) * y)
    binades, rest = divmod(exponent, ln2)
    limit = 1 << FP32.exponent_bits
    if abs(binades) > limit:
        beyond = scaled(1, limit if binades > 0 else -limit)
        return beyond, beyond
    near = _exponential(rest, bits)
    error = 1 << _ERROR_BITS
    return scaled(near - error, binades - bits), scaled(near + error, binades - bits)


def _logarithm(x: Fraction, bits: int) -> int:
    """Return ln x for x from 1 to 2, in units of 2**-bits: the sum of 2 z**k / k over odd k, z = (x - 1) / (x + 1)."""
    z = (x - 1) / (x + 1)
    term, square = (2 * z.numerator << bits) // z.denominator, z * z
    total, k = 0, 1
    while term:
        total += term // k
        term, k = term * square.numerator // square.denominator, k + 2
    return total


def _exponential(x: int, bits: int) -> int:
    """Return e**x for x from 0 to ln 2, both in units of 2**-bits: the sum of x**k / k!."""
    total, term, k = 0, 1 << bits, 1
    while term:
        total += term
        term, k = (term * x >> bits) // k, k + 1
    return total
