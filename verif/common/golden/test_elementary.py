"""Intervals and elementary functions: they enclose what fractions and mpmath give, and are a few units wide."""

from fractions import Fraction
from operator import add, mul, sub, truediv

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar import elementary
from bitpath.golden.scalar.elementary import Interval, nearest

EXACT = mpmath.mp.clone()
EXACT.prec = 1500
FRACTIONS = st.fractions(-1000, 1000, max_denominator=10**6)
MAGNITUDES = st.builds(lambda m, e: m * Fraction(2) ** e, st.integers(1, (1 << 24) - 1), st.integers(-149, 104))
"""FP32's positive numbers."""
NEXT_TO_ONE = st.builds(lambda m: 1 + Fraction(m, 1 << 24), st.integers(-(1 << 10), 1 << 10))


def real(x):
    return EXACT.mpf(x.numerator) / x.denominator


def check(interval, value, width):
    """The value lies between the ends, which are at most `width` units apart."""
    low, high = (EXACT.mpf(end) * EXACT.mpf(2) ** -interval.bits for end in (interval.low, interval.high))
    assert low <= value <= high
    assert interval.high - interval.low <= width


@settings(deadline=None)
@given(FRACTIONS, FRACTIONS, st.integers(0, 70), st.integers(0, 9), st.sampled_from((add, sub, mul, truediv)))
def test_arithmetic_encloses_the_result(a, b, bits, width, function):
    """Operands are numbers, intervals with fractions, and fractions with intervals."""
    if function is truediv:
        b = abs(b) + 1
    x, y = (Interval.enclose(each, bits) for each in (a, b))
    wide = Interval(x.low - width, x.high + width, bits)
    for got in (function(wide, y), function(wide, b), function(x, b), function(a, y)):
        assert Fraction(got.low, 1 << bits) <= function(a, b) <= Fraction(got.high, 1 << bits)
    if function is not truediv:
        low, high = Fraction(wide.low, 1 << bits), Fraction(wide.high, 1 << bits)
        ends = [function(each, b) for each in (low, high)]
        got = function(wide, b)
        assert Fraction(got.low, 1 << bits) <= min(ends)
        assert Fraction(got.high, 1 << bits) >= max(ends)


def test_intervals_by_hand():
    third = Interval.enclose(Fraction(1, 3), 4)
    assert third == Interval(5, 6, 4)
    assert Interval.enclose(Fraction(-3, 16), 4) == Interval(-3, -3, 4)
    assert (-third, third + 1, 1 - third) == (Interval(-6, -5, 4), Interval(21, 22, 4), Interval(10, 11, 4))
    assert (third * -2, Interval(-1, 2, 4) * third) == (Interval(-12, -10, 4), Interval(-1, 1, 4))
    assert (1 / third, -third / third) == (Interval(42, 52, 4), Interval(-20, -13, 4))
    assert (Interval.enclose(2, 4).root(), Interval(0, 16, 4).root()) == (Interval(22, 23, 4), Interval(0, 17, 4))


def test_codes_of_both_ends():
    """Zero has the sign of the other end; a tie between the ends leaves two codes."""
    assert Interval(0, 1, 200).codes(FP32) == {0}
    assert Interval(-1, 0, 200).codes(FP32) == {1 << 31}
    assert Interval(-1, 1, 200).codes(FP32) == {0, 1 << 31}
    assert Interval((1 << 24) + 1, (1 << 24) + 2, 24).codes(FP32) == {0x3F800000, 0x3F800001}


def test_nearest_takes_as_many_bits_as_it_needs():
    """1 + 2**-24 is a tie, 2**-400 above it is not."""
    asked = []

    def enclosure(bits):
        asked.append(bits)
        return Interval.enclose(1 + Fraction(1, 1 << 24) + Fraction(1, 1 << 400), bits) + Interval(-1, 1, bits)

    assert nearest(enclosure, FP32) == 0x3F800001
    assert asked == [256, 512]


@pytest.mark.parametrize("bits", [200, 256, 1000])
def test_pi(bits):
    check(elementary.pi(bits), EXACT.pi, 3)


BITS = st.sampled_from((150, 256, 700))


@settings(deadline=None)
@given(MAGNITUDES | NEXT_TO_ONE, BITS)
def test_log(x, bits):
    check(elementary.log(Interval.enclose(x, bits)), EXACT.log(real(x)), 3)


def test_log_of_numbers_from_one_on_is_not_negative():
    one = elementary.log(Interval.enclose(1, 256))
    assert (one.low, one.high) == (0, 2)
    assert elementary.log(Interval((1 << 256) - 1, 1 << 256, 256)).low < 0


@settings(deadline=None)
@given(MAGNITUDES.filter(lambda x: x < 10**4) | st.just(Fraction(0)), BITS)
def test_exp(x, bits):
    check(elementary.exp(Interval.enclose(-x, bits)), EXACT.exp(-real(x)), 3)


def test_exp_of_numbers_far_below_zero():
    """Next to the number of bits, and beyond what FP32 holds."""
    for x in (177, 178, 255, 256, 257, 1 << 300):
        check(elementary.exp(Interval.enclose(-x, 256)), EXACT.exp(-x), 3)


MULTIPLES = st.builds(lambda n: Fraction(int(EXACT.nint(n * EXACT.pi / 2 * 2**21)), 1 << 21), st.integers(1, 4))
"""FP32's numbers next to multiples of pi/2."""


@settings(deadline=None)
@given(MAGNITUDES | MULTIPLES, BITS, st.sampled_from((1, -1)))
def test_sin_and_arctan(x, bits, sign):
    check(elementary.sin(sign * x, bits), EXACT.sin(sign * real(x)), 3)
    check(elementary.arctan(sign * x, bits), EXACT.atan(sign * real(x)), 5)


@settings(deadline=None)
@given(MAGNITUDES.filter(lambda x: x <= 512), BITS)
def test_odd_factorial_series(x, bits):
    """It is erf(sqrt(x / 2)) * exp(x / 2) * sqrt(pi / (2 x)), and its error is relative to it."""
    value = EXACT.sqrt(EXACT.pi / 2 / real(x)) * EXACT.erf(EXACT.sqrt(real(x) / 2)) * EXACT.exp(real(x) / 2)
    check(elementary.odd_factorial_series(x, bits), value, 3 + value * 2**-14)
