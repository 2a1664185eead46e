"""Readable values of codes, and the distance of two codes in units in the last place."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.golden.scalar.codec import Kind, decode


@dataclass(frozen=True)
class Integer:
    """An integer of ``width`` bits: two's complement, sign and magnitude, or unsigned.

    ``magnitude_bits`` are those of a magnitude that does not reach up to the sign; None if it does.
    """

    width: int
    signed: bool = True
    sign_and_magnitude: bool = False
    magnitude_bits: int | None = None

    def value(self, code: int) -> int:
        """Return the number of a code."""
        sign = self.signed and code >> self.width - 1
        if self.sign_and_magnitude:
            bits = self.width - self.signed if self.magnitude_bits is None else self.magnitude_bits
            magnitude = code & (1 << bits) - 1
            return -magnitude if sign else magnitude
        return code - (1 << self.width) if sign else code


@dataclass(frozen=True)
class Word:
    """A word of ``width`` bits that is no number, such as a state or a command."""

    width: int


Number = FloatFormat | Integer | Word


def number_text(fmt: FloatFormat | Integer, code: int) -> str:
    """Return the number of a code as short text, rounded to 9 significant digits."""
    if isinstance(fmt, Integer):
        return str(fmt.value(code))
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


def hex_text(code: int, width: int) -> str:
    """Return a code in hexadecimal, with all digits of its width."""
    return f"0x{code:0{-(-width // 4)}x}"


def code_text(fmt: Number, code: int) -> str:
    """Return a code and its number: 0x3f800000 = 1."""
    if isinstance(fmt, Word):
        return hex_text(code, fmt.width)
    return f"{hex_text(code, fmt.width)} = {number_text(fmt, code)}"


def codes_text(fmt: Number, codes: Iterable[int]) -> str:
    """Return codes and their numbers, separated by commas."""
    return ", ".join(code_text(fmt, int(code)) for code in codes)


def _exponent_of_power(value: Fraction) -> int:
    return value.numerator.bit_length() - value.denominator.bit_length()


def ulp_distance(fmt: FloatFormat | Integer, a: int, b: int) -> int | None:
    """Return the steps between two codes on the number line, where +0 equals -0; None if either is NaN."""
    if isinstance(fmt, Integer):
        return abs(fmt.value(a) - fmt.value(b))
    if Kind.NAN in (decode(fmt, a).kind, decode(fmt, b).kind):
        return None
    return abs(_position(fmt, a) - _position(fmt, b))


def distance_text(fmt: Number, a: int, b: int) -> str:
    """Return the distance of two different codes as text, 1 ulp; empty for words."""
    if isinstance(fmt, Word):
        return ""
    distance = ulp_distance(fmt, a, b)
    if distance is None:
        return "no distance from NaN"
    return f"{distance} ulp" if distance else "the same number in another code"


def _position(fmt: FloatFormat, code: int) -> int:
    magnitude = code & ~fmt.sign_mask
    return -magnitude if code & fmt.sign_mask else magnitude
