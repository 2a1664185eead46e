"""Rounding an exact value to a code, in unbounded integers."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, prod

from bitpath.golden.formats.catalogue import FP32, FloatFormat, Rounding, Specials
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import Kind, Overflow, Unpacked, overflow_code, power_of_two, scaled

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


# Terms of an exact sum: the rules of IEEE 754 for NaN, infinity and the sign of zero, in products and in sums.


@dataclass(frozen=True)
class Term:
    """One summand: a number, or a product.

    Attributes
    ----------
    kind : finite, infinity or NaN.
    sign : 0 or 1; a zero has one too.
    value : the exact value; 0 where not finite.
    exponent : the exponent that alignment goes by, before normalisation; None where the term takes no part in the maximum.
    """

    kind: Kind
    sign: int
    value: Fraction
    exponent: int | None = None


def term(x: Unpacked) -> Term:
    """Return a decoded number as a term without exponent."""
    return Term(x.kind, x.sign, x.value if x.kind is Kind.FINITE else Fraction(0))


def product(*factors: Unpacked) -> Term:
    """Return a product as a term without exponent; a NaN factor, or a zero and an infinity, make it NaN."""
    sign = sum(factor.sign for factor in factors) & 1
    kinds = {factor.kind for factor in factors}
    if Kind.NAN in kinds or (Kind.INFINITY in kinds and any(factor.is_zero for factor in factors)):
        return Term(Kind.NAN, 0, Fraction(0))
    if Kind.INFINITY in kinds:
        return Term(Kind.INFINITY, sign, Fraction(0))
    significand = prod(factor.significand for factor in factors)
    value = scaled(-significand if sign else significand, sum(factor.exponent for factor in factors))
    return Term(Kind.FINITE, sign, value)


def special_sum(terms: Sequence[Term]) -> int | None:
    """Return the FP32 code of a sum with a NaN or an infinity in it; None where all terms are finite."""
    if all(each.kind is Kind.FINITE for each in terms):
        return None
    kinds = {each.kind for each in terms}
    signs = {each.sign for each in terms if each.kind is Kind.INFINITY}
    if Kind.NAN in kinds or len(signs) > 1:
        return FP32.nan_code
    return FP32.infinity_code | (FP32.sign_mask if signs == {1} else 0)


def rounded_sum(terms: Sequence[Term]) -> int:
    """Return the FP32 code of a sum, rounded once to nearest even; a zero sum is -0 where all terms are negative."""
    special = special_sum(terms)
    if special is not None:
        return special
    total = sum((each.value for each in terms), Fraction(0))
    return round_to_format(total, FP32, zero_sign=int(all(each.sign for each in terms)))
