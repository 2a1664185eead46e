"""Terms of an exact sum: the rules of IEEE 754 for NaN, infinity and the sign of zero, in products and in sums."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.codec import Kind, Unpacked, scaled
from bitpath.golden.scalar.rounding import round_to_format


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
