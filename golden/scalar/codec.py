"""Decoding and encoding of one code: class, sign, significand and exponent as unbounded Python integers."""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache

from bitpath.golden.formats.catalogue import FixedFormat, FloatFormat, Specials


class Kind(Enum):
    """Class of a code; it takes precedence over the other fields: a NaN's significand has no meaning."""

    FINITE = "finite"
    INFINITY = "infinity"
    NAN = "nan"


class Overflow(Enum):
    """Result of rounding a value beyond the largest finite number."""

    SPECIAL = "special"  # infinity, or NaN in a format without infinity
    SATURATE = "saturate"  # the largest finite number, infinity too


def scaled(integer: int, exponent: int) -> Fraction:
    """Return ``integer * 2**exponent``; Fraction's own power and product take five times as long."""
    return Fraction(integer << exponent) if exponent >= 0 else Fraction(integer, 1 << -exponent)


@lru_cache(4096)
def power_of_two(exponent: int) -> Fraction:
    """Return ``2**exponent``."""
    return scaled(1, exponent)


@dataclass(frozen=True)
class Unpacked:
    """A code taken apart: ``(-1)**sign * significand * 2**exponent`` where ``kind`` is finite.

    Attributes
    ----------
    kind : class of the code.
    sign : 0 or 1.
    significand : integer with the hidden bit; at most ``fmt.precision`` bits, 0 for a zero. Of a fixed-point code its
        magnitude.
    exponent : weight of the significand's lowest bit; subnormals and zeros have that of the smallest normal number.
    """

    kind: Kind
    sign: int
    significand: int
    exponent: int

    @property
    def value(self) -> Fraction:
        """The exact value of a finite code."""
        if self.kind is not Kind.FINITE:
            raise ValueError(f"value: {self.kind.value} has no exact value")
        return scaled(-self.significand if self.sign else self.significand, self.exponent)

    @property
    def is_zero(self) -> bool:
        """True for +0 and -0."""
        return self.kind is Kind.FINITE and self.significand == 0


def decode(fmt: FloatFormat | FixedFormat, code: int) -> Unpacked:
    """Decode one code into its fields.

    Raises
    ------
    ValueError : the code does not fit in the format's width.
    """
    if not 0 <= code < 1 << fmt.width:
        raise ValueError(f"code is {code}; {fmt.name} codes are 0 to {(1 << fmt.width) - 1}")
    if isinstance(fmt, FixedFormat):
        sign = code >> fmt.width - 1
        return Unpacked(Kind.FINITE, sign, abs(code - (sign << fmt.width)), -fmt.fraction_bits)
    sign = int(bool(code & fmt.sign_mask))
    biased = code >> fmt.fraction_bits & fmt.exponent_mask
    fraction = code & fmt.fraction_mask
    magnitude = code & ~fmt.sign_mask
    subnormal = fmt.has_subnormals and biased == 0
    kind = Kind.FINITE
    if magnitude > fmt.max_code:
        kind = Kind.INFINITY if magnitude == fmt.infinity_code else Kind.NAN
    elif fmt.specials is Specials.UNSIGNED_ZERO and code == fmt.nan_code:
        kind = Kind.NAN
    return Unpacked(
        kind=kind,
        sign=sign,
        significand=fraction if subnormal else fraction | 1 << fmt.fraction_bits,
        exponent=(fmt.emin if subnormal else biased - fmt.bias) - fmt.fraction_bits,
    )


def overflow_code(fmt: FloatFormat, overflow: Overflow) -> int:
    """Return the code, without sign, of a magnitude beyond the largest finite number.

    Raises
    ------
    ValueError : the format has neither infinity nor NaN and `overflow` asks for one.
    """
    if overflow is Overflow.SATURATE:
        return fmt.max_code
    if fmt.specials is Specials.FINITE:
        raise ValueError(f"overflow is {overflow.name}; {fmt.name} has neither infinity nor NaN and can only saturate")
    return fmt.nan_code if fmt.infinity_code is None else fmt.infinity_code
