"""Readable values of codes, and the distance of two codes in units in the last place."""

from fractions import Fraction

from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.golden.scalar.codec import Kind, decode


def number_text(fmt: FloatFormat, code: int) -> str:
    """Return the number of a code as short text, rounded to 9 significant digits."""
    unpacked = decode(fmt, code)
    sign = "-" if unpacked.sign else ""
    if unpacked.kind is Kind.NAN:
        return "NaN"
    if unpacked.kind is Kind.INFINITY:
        return f"{sign}inf"
    if unpacked.is_zero:
        return f"{sign}0"
    if not fmt.fraction_bits:
        return f"2^{_exponent_of_power(unpacked.value)}"
    # Nine digits distinguish all FP32 numbers.
    return f"{float(unpacked.value):.9g}"


def _exponent_of_power(value: Fraction) -> int:
    return value.numerator.bit_length() - value.denominator.bit_length()


def ulp_distance(fmt: FloatFormat, a: int, b: int) -> int | None:
    """Return the steps between two codes on the number line, where +0 equals -0; None if either is NaN."""
    if Kind.NAN in (decode(fmt, a).kind, decode(fmt, b).kind):
        return None
    return abs(_position(fmt, a) - _position(fmt, b))


def _position(fmt: FloatFormat, code: int) -> int:
    magnitude = code & ~fmt.sign_mask
    return -magnitude if code & fmt.sign_mask else magnitude
