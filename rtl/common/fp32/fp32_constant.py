"""FP32 codes of constants at elaboration."""

from fractions import Fraction

from bitpath.golden.formats.catalogue import FP32


def fp32_constant(value: Fraction) -> int:
    """Return the code of a positive number in FP32's normal range, rounded to nearest even; raise ValueError outside it."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** exponent > value:
        exponent -= 1
    if not FP32.emin <= exponent <= FP32.emax:
        raise ValueError(f"constant must be a normal FP32 number, not {value}")
    # round() rounds to even; a carry to the next power of two increments the exponent field.
    significand = round(value / Fraction(2) ** (exponent - FP32.fraction_bits))
    return (exponent + FP32.bias - 1 << FP32.fraction_bits) + significand
