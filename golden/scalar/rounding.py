"""Rounding an exact value to a code, in unbounded integers."""

from fractions import Fraction
from math import ceil, floor

from bitpath.golden.formats.catalogue import FloatFormat, Specials
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import Overflow, overflow_code, power_of_two, scaled

HALF = Fraction(1, 2)


@checked
def floor_log2(value: Fraction) -> int:
    """Return the exponent e with ``2**e <= |value| < 2**(e + 1)``, for a `value` other than 0."""
    numerator, denominator = abs(value.numerator), value.denominator
    guess = numerator.bit_length() - denominator.bit_length()  # exact or one too large
    reached = numerator >= denominator << guess if guess >= 0 else numerator << -guess >= denominator
    return guess if reached else guess - 1


@checked
def round_to_integer(value: Fraction, mode: Rounding) -> int:
    """Round to an integer by the formula of `Rounding`, for every mode but SR, which needs random bits.

    Raises
    ------
    ValueError : SR.
    """
    sign = -1 if value.numerator < 0 else 1
    match mode:
        case Rounding.RNE:
            return round(value)  # Python rounds fractions half to even
        case Rounding.RNO:
            integer = floor(value + HALF)
            return integer - (integer == value + HALF and integer % 2 == 0)
        case Rounding.RNA:
            return sign * floor(abs(value) + HALF)
        case Rounding.RNZ:
            return sign * ceil(abs(value) - HALF)
        case Rounding.RNU:
            return floor(value + HALF)
        case Rounding.RND:
            return ceil(value - HALF)
        case Rounding.RTA:
            return sign * ceil(abs(value))
        case Rounding.RTZ:
            return int(value)
        case Rounding.RTU:
            return ceil(value)
        case Rounding.RTD:
            return floor(value)
    raise ValueError(f"rounding must not be {mode.name}")


def shift_round(value: int, shift: int, mode: Rounding) -> int:
    """Divide by ``2**shift`` and round; a negative shift multiplies."""
    return round_to_integer(scaled(value, -shift), mode)


@checked
def ulp(fmt: FloatFormat, value: Fraction) -> Fraction:
    """Return the distance of `fmt`'s numbers at `value`, the exponent unbounded above."""
    exponent = fmt.emin if value == 0 else max(floor_log2(value), fmt.emin)
    return power_of_two(exponent - fmt.fraction_bits)


def round_unbounded(value: Fraction, fmt: FloatFormat, mode: Rounding) -> Fraction:
    """Return a number rounded to the precision of `fmt`, as if its exponents had no limits."""
    if value == 0:
        return value
    unit = power_of_two(floor_log2(value) - fmt.fraction_bits)
    return round_to_integer(value / unit, mode) * unit


@checked
def round_to_format(
    value: Fraction,
    fmt: FloatFormat,
    rounding: Rounding = Rounding.RNE,
    *,
    overflow: Overflow = Overflow.SPECIAL,
    zero_sign: int = 0,
) -> int:
    """Round an exact value to a code of `fmt`, once.

    A value that rounds to zero keeps its sign where the format has one for it; `zero_sign` is the sign of a value that is zero.

    Raises
    ------
    ValueError : the format has no code for it (below an unsigned format's smallest number; no infinity to overflow to).
    """
    if not fmt.signed and value < fmt.min_normal:
        raise ValueError(f"value is {value}; the smallest number of {fmt.name} is {fmt.min_normal}")
    sign = int(value.numerator < 0) if value else zero_sign
    exponent = max(floor_log2(value), fmt.emin) if value else fmt.emin
    significand = abs(round_to_integer(value / power_of_two(exponent - fmt.fraction_bits), rounding))
    if significand == 2 << fmt.fraction_bits:
        significand, exponent = significand // 2, exponent + 1
    if significand < 1 << fmt.fraction_bits:
        code = significand if fmt.has_subnormals else 0
    else:
        code = (exponent + fmt.bias) << fmt.fraction_bits | significand & fmt.fraction_mask
    if code > fmt.max_code:
        code = overflow_code(fmt, overflow)
        if code == fmt.nan_code:
            return code
    signed = code or fmt.specials is not Specials.UNSIGNED_ZERO
    return code | (fmt.sign_mask if sign and signed else 0)
