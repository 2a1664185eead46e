"""Intervals of fixed-point numbers, which enclose a real number: arithmetic, and rounding to a format.

Every operation rounds its lower end down and its upper end up, so that the exact result lies between the ends.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.golden.scalar.codec import scaled
from bitpath.golden.scalar.rounding import round_to_format

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
        """Divide by positive numbers."""
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
