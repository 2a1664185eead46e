"""Numbers that are known when a design is made, as FP32 codes."""

from fractions import Fraction

from bitpath.golden.formats.catalogue import FP32


def fp32_constant(value: Fraction) -> int:
    """The code of a positive number in FP32's normal range, rounded to nearest even."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** exponent > value:
        exponent -= 1
    if not FP32.emin <= exponent <= FP32.emax:
        raise ValueError(f"constant {value} is not a normal FP32 number")
    # Python rounds to even; a carry to the next power of two runs into the exponent field.
    significand = round(value / Fraction(2) ** (exponent - FP32.fraction_bits))
    return (exponent + FP32.bias - 1 << FP32.fraction_bits) + significand
