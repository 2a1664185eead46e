"""The scalar bfloat16 fused multiply-add against exact fractions, and what each of the Matrix unit's savings costs."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from bitpath.golden.codec import Kind, decode
from bitpath.golden.exact import round_to_format
from bitpath.golden.exact.bf16_fma import fma
from bitpath.golden.exact.tensix import multiply_add
from bitpath.golden.spec.formats import BF16
from bitpath.golden.spec.tensix import Format, Style
from bitpath.golden.spec.tensix_numerics import WORMHOLE, Tie

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
    for x in SPECIALS:
        for y in SPECIALS:
            for z in SPECIALS:
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


def matrix_unit(x, y, z, phases, numerics=WORMHOLE.numerics):
    for phase in phases:
        z = multiply_add(
            numerics,
            z,
            y << 3,
            x << 3,
            style=Style.BF16,
            dst32=False,
            phase=phase,
            srca_format=Format.BF16,
            srcb_format=Format.BF16,
        )
    return z


def value(code):
    return decode(BF16, code).value


def test_what_denormals_as_zero_cost():
    assert value(fma(0x0001, ONE, 0)) == Fraction(2) ** -133
    assert matrix_unit(0x0001, ONE, 0, range(4)) == 0


def test_what_a_partial_significand_costs():
    x = ONE | 1
    assert fma(x, ONE, 0) == x
    assert matrix_unit(x, ONE, 0, (0,)) == ONE
    assert matrix_unit(x, ONE, 0, (0, 1)) == x


def test_what_one_alignment_of_ten_fraction_bits_costs():
    """1 plus a little over half of 2**-7 goes up; the little below 10 fraction bits never arrives, and ties away hides it."""
    tie, above = 0x3B80, 0x3B81
    assert [fma(each, ONE, ONE) for each in (tie, above)] == [ONE, ONE + 1]
    even = replace(WORMHOLE.numerics, sum_tie=Tie.EVEN, dst_tie=Tie.EVEN, final_tie=Tie.EVEN)
    assert [matrix_unit(each, ONE, ONE, range(4), even) for each in (tie, above)] == [ONE, ONE]


def test_what_cheaper_rounding_costs():
    assert fma(0x3B80, ONE, ONE) == ONE
    assert matrix_unit(0x3B80, ONE, ONE, range(4)) == ONE + 1
