"""Elementary functions as `Interval`, computed in integers.

A function of FP32 numbers computes with `_GUARD` more bits than its result has, in at most a few thousand operations of
which each is off by a unit or two. The error stays below one unit of the result, and the interval has one unit for it at
each end; where errors grow with the argument, the function says how.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import isqrt

from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.golden.scalar.codec import scaled
from bitpath.golden.scalar.rounding import round_to_format

# Intervals of fixed-point numbers, which enclose a real number: arithmetic, and rounding to a format.
#
# Every operation rounds its lower end down and its upper end up, so that the exact result lies between the ends.


_FIRST_BITS = 256
"""Fraction bits of the first attempt: FP32's subnormals are multiples of 2**-149."""


@dataclass(frozen=True)
class Interval:
    """The numbers from ``low * 2**-bits`` to ``high * 2**-bits``; an operand may be an integer or a fraction.

    Attributes
    ----------
    low, high : ends, in units of ``2**-bits``.
    bits : number of fraction bits, the same in all operands of an operation.
    """

    low: int
    high: int
    bits: int

    @classmethod
    def enclose(cls, value: int | Fraction, bits: int) -> "Interval":
        """Return the smallest interval around a number: both ends are equal if it has at most `bits` fraction bits."""
        numerator = value.numerator << bits
        return cls(numerator // value.denominator, _up(numerator, value.denominator), bits)

    def _other(self, value: "Interval | int | Fraction") -> "Interval":
        return value if isinstance(value, Interval) else self.enclose(value, self.bits)

    def __neg__(self) -> "Interval":
        return Interval(-self.high, -self.low, self.bits)

    def __add__(self, value: "Interval | int | Fraction") -> "Interval":
        other = self._other(value)
        return Interval(self.low + other.low, self.high + other.high, self.bits)

    def __sub__(self, value: "Interval | int | Fraction") -> "Interval":
        return self + -self._other(value)

    def __mul__(self, value: "Interval | int | Fraction") -> "Interval":
        other = self._other(value)
        products = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        unit = 1 << self.bits
        return Interval(min(products) // unit, _up(max(products), unit), self.bits)

    def __truediv__(self, value: "Interval | int | Fraction") -> "Interval":
        other = self._other(value)
        low, high = self.low << self.bits, self.high << self.bits
        return Interval(
            low // (other.high if low >= 0 else other.low),
            _up(high, other.low if high >= 0 else other.high),
            self.bits,
        )

    def __rsub__(self, value: int | Fraction) -> "Interval":
        return self._other(value) - self

    def __rtruediv__(self, value: int | Fraction) -> "Interval":
        return self._other(value) / self

    __radd__, __rmul__ = __add__, __mul__

    def root(self) -> "Interval":
        """Return the square root of numbers that are not negative."""
        return Interval(isqrt(self.low << self.bits), isqrt(self.high << self.bits) + 1, self.bits)

    def codes(self, fmt: FloatFormat) -> set[int]:
        """Return the codes of both ends, rounded to nearest even; an end of 0 has the other end's sign."""
        return {
            round_to_format(scaled(end, -self.bits), fmt, zero_sign=int(other < 0))
            for end, other in ((self.low, self.high), (self.high, self.low))
        }


def nearest(enclosure: Callable[[int], Interval], fmt: FloatFormat) -> int:
    """Return the code nearest to a real number, ties to even, from its intervals with ever more fraction bits.

    Parameters
    ----------
    enclosure : the interval around the number with a number of fraction bits; its width falls with them. The number is
        neither zero nor the midpoint of two neighbours in `fmt`, with which no number of bits would suffice.
    """
    bits = _FIRST_BITS
    while len(codes := enclosure(bits).codes(fmt)) > 1:
        bits *= 2
    return codes.pop()


def _up(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


_GUARD = 32
"""Bits below the result's, within a function."""
_SERIES_GUARD = 16
"""Bits by which an error relative to the sum of a series is larger than a unit relative to 1."""


@cache
def pi(bits: int) -> Interval:
    """Return pi, by Machin's formula 16 arctan(1/5) - 4 arctan(1/239)."""
    within = bits + _GUARD
    return _rounded(16 * _odd_powers(5, within, -1) - 4 * _odd_powers(239, within, -1), bits)


@cache
def _ln2(bits: int) -> int:
    """Return ln 2 = 2 artanh(1/3) in units of ``2**-bits``, within two units."""
    return 2 * _odd_powers(3, bits + _GUARD, 1) >> _GUARD


def _odd_powers(divisor: int, bits: int, sign: int) -> int:
    """Return the sum of ``sign**k / ((2 k + 1) * divisor**(2 k + 1))`` in units of ``2**-bits``."""
    total, n, power = 0, 1, (1 << bits) // divisor
    while power:
        total += power // n if sign > 0 or n % 4 == 1 else -(power // n)
        power, n = power // divisor**2, n + 2
    return total


def _rounded(value: int, bits: int) -> Interval:
    """Return the interval around a value of `_GUARD` more bits."""
    return Interval((value >> _GUARD) - 1, (value >> _GUARD) + 2, bits)


def exp(x: Interval) -> Interval:
    """Return exp(x) of numbers that are not positive."""
    low, high = (_power(end, x.bits) for end in (x.low, x.high))
    return Interval(max(low - 1, 0), high + 2, x.bits)


def _power(x: int, bits: int) -> int:
    """Return exp(x) of a number in units of ``2**-bits``, which is ``2**k * exp(r)`` with r from 0 to ln 2."""
    if -x > bits << bits:  # e**-bits is less than a unit
        return 0
    ln2 = _ln2(bits + _GUARD)
    k, r = divmod(x << _GUARD, ln2)
    total = term = 1 << bits + _GUARD
    n = 1
    while term:
        term = (term * r >> bits + _GUARD) // n
        total, n = total + term, n + 1
    return total >> _GUARD - k


def log(x: Interval) -> Interval:
    """Return the natural logarithm of positive numbers; of numbers from 1 on it is not negative."""
    low, high = (_rounded(_logarithm(end, x.bits), x.bits) for end in (x.low, x.high))
    return Interval(max(low.low, 0) if x.low >> x.bits else low.low, high.high, x.bits)


def _logarithm(x: int, bits: int) -> int:
    """Return log(2**k * m) = k ln 2 + 2 artanh((m - 1) / (m + 1)) with m from 1 to 2, with `_GUARD` more bits."""
    within = bits + _GUARD
    one = 1 << within
    k = x.bit_length() - 1 - bits
    m = x << _GUARD - k if k <= _GUARD else x >> k - _GUARD
    z = (m - one << within) // (m + one)
    total, n, power = 0, 1, z
    while power:
        total += power // n
        power, n = power * (z * z >> within) >> within, n + 2
    return k * _ln2(within) + 2 * total


def sin(x: Fraction, bits: int) -> Interval:
    """Return the sine of a fraction whose denominator is a power of two up to ``2**bits``.

    x = n pi/2 + r with r from -pi/4 to pi/4. The error of pi/2 counts n times, so pi has as many more bits as n.
    """
    size = max(0, abs(x.numerator).bit_length() - x.denominator.bit_length() + 1)
    within = bits + _GUARD
    wide = within + size
    half_pi = pi(wide - 1).low  # in units of 2**-wide, as r and x
    wide_x = (x.numerator << wide) // x.denominator
    n = (2 * wide_x + half_pi) // (2 * half_pi)
    r = wide_x - n * half_pi
    negative = (n % 4 > 1) != (r < 0 and n % 2 == 0)
    r = abs(r) >> size
    square = r * r >> within
    k, term = (0, 1 << within) if n % 2 else (1, r)  # terms r**k / k!, of the cosine or of the sine
    total = 0
    while term:
        total += term if k % 4 < 2 else -term
        term = (term * square >> within) // ((k + 1) * (k + 2))
        k += 2
    value = _rounded(total, bits)
    return -value if negative else value


def arctan(x: Fraction, bits: int) -> Interval:
    """Return the arctangent of a fraction: Euler's series of z up to 1, and pi/2 - arctan(1 / x) beyond.

    arctan(z) = sum of ``(2 * 4 * ... * 2n) / (3 * 5 * ... * (2n + 1)) * w**n * z / (1 + z*z)`` with ``w = z*z / (1 + z*z)``.
    """
    within = bits + _GUARD
    one = 1 << within
    beyond = abs(x) > 1
    z = Interval.enclose(1 / abs(x) if beyond else abs(x), within).low
    square = z * z >> within
    w = (square << within) // (one + square)
    term = (z << within) // (one + square)
    total, n = 0, 1
    while term:
        total += term
        term = (term * w >> within) * 2 * n // (2 * n + 1)
        n += 1
    value = pi(bits) / 2 - _rounded(total, bits) if beyond else _rounded(total, bits)
    return value if x >= 0 else -value


def odd_factorial_series(z: Fraction, bits: int) -> Interval:
    """Return the sum of ``z**n / (1 * 3 * ... * (2n + 1))``, for z from 0 to 2**9, which the error function contains.

    The sum is up to ``exp(z / 2)``, and so is the error of fewer than 2000 terms.
    """
    within = bits + _GUARD
    step = Interval.enclose(z, within).low
    total, n, term = 0, 0, 1 << within
    while term:
        total, n = total + term, n + 1
        term = (term * step >> within) // (2 * n + 1)
    error = (total >> within - _SERIES_GUARD) + (1 << _SERIES_GUARD)
    return Interval(total - error >> _GUARD, (total + error >> _GUARD) + 1, bits)
