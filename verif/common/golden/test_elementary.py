"""Scalar elementary functions and the bfloat16 fused multiply-add, against fractions and mpmath."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from operator import add, mul, sub, truediv

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.formats.catalogue import BF16, FP32, Rounding
from bitpath.golden.scalar import elementary
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.elementary import Interval, nearest
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.tensix.declarations.formats import Format, Style
from bitpath.golden.tensix.declarations.numerics import WORMHOLE
from bitpath.golden.tensix.exact import multiply_add, trace_dot16
from bitpath.golden.tensix.exact.fma import fma

# The scalar bfloat16 fused multiply-add against exact fractions, and the error of each simplification in the Matrix unit.


SPECIALS = (0, 0x8000, 1, 0x8001, 0x7F, 0x80, 0x8080, 0x3F80, 0xBF80, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC1)
ONE = 0x3F80


def expected(x, y, z):
    a, b, c = (decode(BF16, code) for code in (x, y, z))
    sign = a.sign ^ b.sign
    if Kind.NAN in (a.kind, b.kind, c.kind):
        return BF16.nan_code
    product_infinite = Kind.INFINITY in (a.kind, b.kind)
    if product_infinite and (a.is_zero or b.is_zero):
        return BF16.nan_code
    if product_infinite or c.kind is Kind.INFINITY:
        if product_infinite and c.kind is Kind.INFINITY and c.sign != sign:
            return BF16.nan_code
        return BF16.infinity_code | ((sign if product_infinite else c.sign) << 15)
    return round_to_format(a.value * b.value + c.value, BF16, zero_sign=sign & c.sign)


def test_specials_against_each_other():
    for x, y, z in product(SPECIALS, repeat=3):
        assert fma(x, y, z) == expected(x, y, z), (hex(x), hex(y), hex(z))


@pytest.mark.parametrize("kind", ["any", "near", "small"])
def test_random(kind):
    rng = np.random.default_rng(51)
    for _ in range(4000):
        x, y, z = rng.integers(0, 1 << 16, 3).tolist()
        if kind == "near":
            x, y = (code & 0x807F | int(rng.integers(120, 135)) << 7 for code in (x, y))
            z = z & 0x807F | int(rng.integers(118, 140)) << 7
        if kind == "small":
            x, y = (code & 0x807F | int(rng.integers(50, 70)) << 7 for code in (x, y))
            z &= 0x83FF
        assert fma(x, y, z) == expected(x, y, z)


BF16_SOURCES = {"style": Style.BF16, "dst32": False, "srca_format": Format.BF16, "srcb_format": Format.BF16}


def matrix_unit(x, y, z, phases, numerics=WORMHOLE.numerics):
    for phase in phases:
        z = multiply_add(numerics, z, y << 3, x << 3, phase=phase, **BF16_SOURCES)
    return z


def value(code):
    return decode(BF16, code).value


@pytest.mark.parametrize("sign", [0, BF16.sign_mask])
def test_what_is_left_of_a_cancellation_has_its_sign(sign):
    """129 * 129 = 130 * 128 + 1: one unit of the product's last place."""
    x, z = ONE | 1, ONE | 2
    assert value(fma(x, x | sign, z | (sign ^ BF16.sign_mask))) == (-1 if sign else 1) * Fraction(2) ** -14


def test_what_denormals_as_zero_cost():
    """The matrix unit flushes subnormal factors, addends and results such as 2**-127 to zero."""
    for x, y, z, exact in ((0x0001, ONE, 0, 0x0001), (0, 0, 0x8001, 0x8001), (0x0080, 0x3F00, 0, 0x0040)):
        assert fma(x, y, z) == exact
        assert matrix_unit(x, y, z, range(4)) == 0
    assert value(0x0001) == Fraction(2) ** -133


@pytest.mark.parametrize(
    ("x", "y", "z", "exact", "simplified"),
    [
        (0x7FC0, ONE, 0, 0x7FC0, 0x7F80),
        (0x7F80, 0, 0, 0x7FC0, 0),
        (0x7F80, ONE, 0xFF80, 0x7FC0, 0),
        # Infinity is 2**128, and halved it is a number again.
        (0x7F80, ONE, 0, 0x7F80, 0x7F80),
        (0x7F80, 0x3F00, 0, 0x7F80, 0x7F00),
    ],
)
def test_what_leaving_out_nan_and_infinity_costs(x, y, z, exact, simplified):
    assert fma(x, y, z) == exact
    assert matrix_unit(x, y, z, range(4)) == simplified


def test_what_a_partial_significand_costs():
    """SrcA supplies 5 and then 3 of its 8 bits, SrcB 7 and then 1."""
    x = ONE | 1
    assert fma(x, ONE, 0) == x
    assert matrix_unit(x, ONE, 0, (0,)) == ONE
    assert matrix_unit(x, ONE, 0, (0, 1)) == x
    assert matrix_unit(ONE, x, 0, (0, 1)) == ONE
    assert matrix_unit(ONE, x, 0, (0, 1, 2)) == x


def dot_product(xs, ys, numerics):
    """One MVMUL output from a BF16 Dst of 0."""
    a, b = ([code << 3 for code in [*each, *[0] * (16 - len(each))]] for each in (xs, ys))
    return trace_dot16(numerics, 0, b, a, phase=0, **BF16_SOURCES).result


def chain(xs, ys):
    total = 0
    for x, y in zip(xs, ys, strict=True):
        total = fma(x, y, total)
    return total


@pytest.mark.parametrize(("guard_bits", "result"), [(0, ONE + 1), (1, ONE)])
def test_what_one_common_alignment_costs(guard_bits, result):
    """1 and six times 2**-11: each is half a unit of 10 fraction bits, and without a guard bit is doubled."""
    xs, ys = [ONE, *[0x3A00] * 6], [ONE] * 7
    exact = sum(value(x) * value(y) for x, y in zip(xs, ys, strict=True))
    assert round_to_format(exact, BF16) == chain(xs, ys) == ONE
    assert dot_product(xs, ys, replace(WORMHOLE.numerics, product_guard_bits=guard_bits)) == result


def test_what_one_normalisation_for_many_terms_gains():
    """1 and fifteen times 2**-8: one by one each is a tie that goes back to 1; the unit rounds their sum once."""
    xs, ys = [ONE, *[0x3B80] * 15], [ONE] * 16
    assert chain(xs, ys) == ONE
    assert dot_product(xs, ys, WORMHOLE.numerics) == ONE + 8
    even = replace(WORMHOLE.numerics, final_tie=Rounding.RNE)
    exact = sum(value(x) * value(y) for x, y in zip(xs, ys, strict=True))
    assert dot_product(xs, ys, even) == round_to_format(exact, BF16)


def test_what_one_alignment_of_ten_fraction_bits_costs():
    """1 plus a little over half of 2**-7 goes up; the little below 10 fraction bits never arrives, and ties away hides it."""
    tie, above = 0x3B80, 0x3B81
    assert [fma(each, ONE, ONE) for each in (tie, above)] == [ONE, ONE + 1]
    even = replace(WORMHOLE.numerics, sum_tie=Rounding.RNE, dst_tie=Rounding.RNE, final_tie=Rounding.RNE)
    assert [matrix_unit(each, ONE, ONE, range(4), even) for each in (tie, above)] == [ONE, ONE]


@pytest.mark.parametrize(("tie", "result"), [(Rounding.RNA, ONE + 1), (Rounding.RNU, ONE + 1), (Rounding.RNE, ONE)])
def test_what_cheaper_rounding_costs(tie, result):
    """A tie goes away from zero, so the highest discarded bit decides."""
    assert fma(0x3B80, ONE, ONE) == ONE
    assert matrix_unit(0x3B80, ONE, ONE, range(4), replace(WORMHOLE.numerics, final_tie=tie)) == result
    sign = BF16.sign_mask
    negative = matrix_unit(0x3B80 | sign, ONE, ONE | sign, range(4), replace(WORMHOLE.numerics, final_tie=tie))
    assert negative == sign | (ONE + 1 if tie is Rounding.RNA else ONE)


# Intervals and elementary functions: they enclose what fractions and mpmath give, and are a few units wide.


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
