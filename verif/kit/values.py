"""Codes as people read them: the number, and how far two codes are apart."""

from fractions import Fraction

from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.golden.scalar.codec import Kind, decode


def number_text(fmt: FloatFormat, code: int) -> str:
    """The number that a code stands for, as short as it can be said without rounding up to 9 digits."""
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
    # Nine digits tell all FP32 numbers apart.
    return f"{float(unpacked.value):.9g}"


def _exponent_of_power(value: Fraction) -> int:
    return value.numerator.bit_length() - value.denominator.bit_length()


def ulp_distance(fmt: FloatFormat, a: int, b: int) -> int | None:
    """Steps between two codes along the number line, +0 and -0 being one point; None where one of them is NaN."""
    if Kind.NAN in (decode(fmt, a).kind, decode(fmt, b).kind):
        return None
    return abs(_position(fmt, a) - _position(fmt, b))


def _position(fmt: FloatFormat, code: int) -> int:
    magnitude = code & ~fmt.sign_mask
    return -magnitude if code & fmt.sign_mask else magnitude
