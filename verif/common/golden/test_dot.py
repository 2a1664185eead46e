"""The step of any dot product against numpy's and mpmath's arithmetic, and its rules one by one."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import mpmath
import numpy as np
import pytest

from bitpath.golden.arrays.dot import dot_steps
from bitpath.golden.formats.catalogue import BF16, E2M1, E4M3FN, E5M2, E8M0, FP16, FP32, INT8, Rounding
from bitpath.golden.formats.dot import (
    MULTIPLY_ADD_FP32,
    MX_DOT_PRODUCT,
    DotProductNumerics,
    InvalidProduct,
    ProductRounding,
    ZeroSign,
)
from bitpath.golden.formats.records import from_dict, to_dict
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.dot import dot_step, trace_dot_step
from bitpath.verif.common.dot.cases import random_cases
from bitpath.verif.common.dot.corners import special_cases
from bitpath.verif.common.dot.shapes import BF16_SUMS, DOT_PRODUCTS, FP16_SUMS, MULTIPLY_ADDS

FMA, MX = MULTIPLY_ADD_FP32.numerics, MX_DOT_PRODUCT.numerics
CARRIERS = {FP16: np.float16, FP32: np.float32}


@pytest.fixture
def rng():
    return np.random.default_rng(20261129)


def step(numerics, x, y, partial, scales=(E8M0.bias, E8M0.bias), formats=None):
    own, other = formats or (numerics.element_formats[0],) * 2
    return dot_step(numerics, x, own, y, other, *scales, partial)


@pytest.mark.parametrize("fmt", CARRIERS, ids=lambda fmt: fmt.name)
def test_an_unfused_multiply_add_is_numpys(fmt, rng):
    """Any bits: NaN, infinities, subnormals; near each other too, so that sums cancel."""
    rounding = ProductRounding(format=fmt, rounding=Rounding.RNE)
    numerics = replace(FMA, element_formats=(fmt,), accumulator=fmt, product_rounding=rounding)
    bits, carrier = np.dtype(f"u{fmt.width // 8}"), CARRIERS[fmt]
    codes = rng.integers(0, 1 << fmt.width, (3, 6000), dtype=np.uint64).astype(bits)
    with np.errstate(all="ignore"):
        numbers = codes.view(carrier)
        numbers[2, ::2] = -(numbers[0, ::2] * numbers[1, ::2]) * carrier(1.001)
        expected = numbers[0] * numbers[1] + numbers[2]
    got = np.array([step(numerics, [int(a)], [int(b)], int(c)) for a, b, c in codes.T], bits)
    assert np.array_equal(np.isnan(expected), got == fmt.nan_code)
    assert np.array_equal(got[~np.isnan(expected)], expected[~np.isnan(expected)].view(bits))


def test_a_fused_multiply_add_rounds_once(rng):
    numbers = rng.standard_normal((3, 2000)).astype(np.float32) * np.exp2(rng.integers(-20, 20, (3, 2000)))
    numbers = numbers.astype(np.float32)
    numbers[2, ::2] = -(numbers[0, ::2] * numbers[1, ::2])
    codes = numbers.view(np.uint32)
    for (a, b, c), (x, y, z) in zip(codes.T.tolist(), numbers.T.tolist(), strict=True):
        with mpmath.workprec(400):
            exact = mpmath.mpf(x) * mpmath.mpf(y) + mpmath.mpf(z)
        with mpmath.workprec(FP32.precision):
            expected = np.float32(float(+exact))
        assert step(FMA, [a], [b], c) == int(expected.view(np.uint32))


def test_int8_counts_64ths():
    numerics = replace(MX, terms=2, element_formats=(INT8,))
    assert decode(FP32, step(numerics, [0x80, 0x7F], [0x80, 0xFF], 0)).value == 4 - Fraction(127, 4096)


def test_scales_that_are_not_there_are_not_read():
    for scales in (0, 1, 2):
        numerics = replace(MX, terms=1, scales=scales)
        one = E4M3FN.bias << E4M3FN.fraction_bits
        found = decode(FP32, step(numerics, [one], [one], 0, (E8M0.bias + 1, E8M0.bias + 2))).value
        assert found == 2 ** sum((1, 2)[:scales])


def test_the_result_may_have_another_format():
    numerics = replace(MX, terms=1, result=BF16)
    one = E4M3FN.bias << E4M3FN.fraction_bits
    # 1 + 2**-8 is a tie of BF16, and a sticky bit breaks it; through FP32 both would be ties.
    assert step(numerics, [one], [one], 0x3B800000) == 0x3F80
    assert step(numerics, [one], [one], 0x3B800001) == 0x3F81
    shorter = replace(MX, terms=1, accumulator=BF16)
    assert step(shorter, [one], [one], 0x3B800000) == 0x3F800000
    with pytest.raises(ValueError, match="its lowest 16 bits are 0 on the accumulator's grid"):
        step(shorter, [one], [one], 0x3B800001)


@pytest.mark.parametrize(
    ("sign", "negative", "signs"), [(ZeroSign.ALL_NEGATIVE, 0, 1), (ZeroSign.PARTIAL, 1, 1), (ZeroSign.PLUS, 0, 0)]
)
def test_the_sign_of_a_zero_sum(sign, negative, signs):
    """-0 with a positive zero product, and with negative ones alone."""
    numerics = replace(MX, terms=2, element_formats=(E2M1,), zero_sign=sign)
    assert step(numerics, [0, 8], [0, 0], 0x80000000) == negative << 31
    assert step(numerics, [8, 8], [0, 0], 0x80000000) == signs << 31
    assert ZeroSign("ieee") is ZeroSign.ALL_NEGATIVE


def test_zero_times_infinity_may_be_zero():
    numerics = replace(MX, terms=1)
    infinity = [E5M2.infinity_code]
    assert step(numerics, [0], infinity, 0, formats=(E5M2, E5M2)) == FP32.nan_code
    zero = replace(numerics, invalid_product=InvalidProduct.ZERO)
    assert step(zero, [0], infinity, 0x3F800000, formats=(E5M2, E5M2)) == 0x3F800000
    named = replace(numerics, nan_code=0xFFC00001)
    assert step(named, [0], infinity, 0, formats=(E5M2, E5M2)) == 0xFFC00001


def test_a_result_may_be_flushed_where_a_partial_sum_is_not():
    numerics = replace(MX, terms=1)
    assert step(numerics, [0], [0], 0x80000001) == 0x80000001
    assert step(replace(numerics, result_subnormals=False), [0], [0], 0x80000001) == 0x80000000


def test_a_rounded_product_is_aligned_by_its_own_exponent():
    """A subnormal product of FP16 has the exponent of the format's smallest normal number."""
    rounding = ProductRounding(format=FP16, rounding=Rounding.RTZ)
    numerics = replace(MX, terms=1, scales=1, product_rounding=rounding, align_fraction_bits=10)
    trace = trace_dot_step(numerics, [0x38], E4M3FN, [0x38], E4M3FN, E8M0.bias - 20, E8M0.bias, 0)
    assert (trace.terms[0].exponent, trace.terms[0].value) == (FP16.emin, Fraction(1, 1 << 20))


def test_a_record_is_json_and_back():
    for numerics in (MX, FMA, *DOT_PRODUCTS, *MULTIPLY_ADDS):
        assert from_dict(DotProductNumerics, json.loads(json.dumps(to_dict(numerics)))) == numerics
    named = to_dict(MX) | {"zero_sign": "PLUS", "accumulator_rounding": "RTZ"}
    found = from_dict(DotProductNumerics, named)
    assert (found.zero_sign, found.accumulator_rounding) == (ZeroSign.PLUS, Rounding.RTZ)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"terms": 0}, "terms must be 1 or more, not 0"),
        ({"scales": 3}, "scales must be 0, 1 or 2, not 3"),
        ({"accumulator": E4M3FN}, "accumulator must have an infinity, not be E4M3FN"),
        ({"result": E2M1}, "result must have an infinity, not be E2M1"),
        ({"nan_code": 0x7F800000}, "nan_code must be a NaN of FP32, not 0x7f800000"),
    ],
)
def test_what_a_record_refuses(changes, says):
    with pytest.raises(ValueError, match=says):
        replace(MX, **changes)


@pytest.mark.parametrize("numerics", [MX, FMA, *DOT_PRODUCTS, *MULTIPLY_ADDS, BF16_SUMS, FP16_SUMS])
def test_the_vectorised_step_is_the_exact_one(numerics):
    """Random classes and special values, each pair of formats at once."""
    cases = [*random_cases(numerics, Random(1), 500), *(case for _, case in special_cases(numerics, Random(2)))]
    for pair in product(numerics.element_formats, repeat=2):
        own = [case for case in cases if (case.stationary_format, case.moving_format) == pair]
        x, y = (np.array([getattr(case, side) for case in own], np.uint32) for side in ("stationary", "moving"))
        sides = ("stationary_scale", "moving_scale", "partial")
        scales = [np.array([getattr(case, name) for case in own], np.uint32) for name in sides]
        got = dot_steps(numerics, x, pair[0], y, pair[1], *scales)
        assert got.tolist() == [case.trace(numerics).result for case in own]
