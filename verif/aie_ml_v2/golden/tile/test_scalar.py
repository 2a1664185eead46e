"""The scalar unit: operations on words, divisions, and functions with their flags, by both tiers and by hand."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.mover import ScalarFunction, ScalarOp, Sr2
from bitpath.golden.formats.catalogue import FP32
from bitpath.verif.common.boundary_codes import integer_crossing
from bitpath.verif.common.fp32.functions import FORMAT_EDGES, FUNCTIONS, rounding_edges

WORDS = sorted(
    {(base + step) % (1 << 32) for base in (0, 31, 32, 127, 128, 255, 0x7FFF, 0x8000, 1 << 31) for step in (-1, 0, 1)}
    | {0xFFFFFFE0, 0xFFFFFFE1, 0xFFFFFFDF, 0x12345678, 0xCAFE8001}
)
words = st.integers(0, (1 << 32) - 1) | st.sampled_from(WORDS)
NAMES = {"inv": "reciprocal", "sqrt": "square_root", "invsqrt": "reciprocal_square_root"}


def of(word):
    return np.array(word, np.uint32)


def computed(op, a, b=0, **others):
    return tuple(int(each) for each in aie.scalar_op(op, of(a), b, **others))


@pytest.mark.parametrize("op", ScalarOp)
def test_corners_squared_are_the_exact_tier(op):
    a, b = (np.array(each, np.uint32).ravel() for each in np.meshgrid(WORDS, WORDS))
    third = np.roll(a, 5)
    for carry in (0, 1):
        result, carries = aie.scalar_op(op, a, b, carry=carry, acc=third)
        expected = [
            exact.scalar_op(op, *each[:2], carry, each[2])
            for each in zip(*map(np.ndarray.tolist, (a, b, third)), strict=True)
        ]
        assert list(zip(result.tolist(), carries.tolist(), strict=True)) == expected


@settings(deadline=None, max_examples=500)
@given(st.sampled_from(ScalarOp), words, words, st.integers(0, 1), words)
def test_any_words(op, a, b, carry, acc):
    assert computed(op, a, b, carry=carry, acc=acc) == exact.scalar_op(op, a, b, carry, acc)


@pytest.mark.parametrize(
    ("op", "operands", "carry", "expected"),
    [
        ("ashl", (0x80000000, 0xFFFFFFFC), 1, (0xF8000000, 1)),
        ("lshl", (0x80000000, 0xFFFFFFFC), 0, (0x08000000, 0)),
        ("lshl", (1, 32), 0, (0, 0)),
        ("ashl", (0xFFFFFFFF, 0xFFFF0000), 0, (0xFFFFFFFF, 0)),
        ("abs", (0x80000000,), 0, (0x80000000, 1)),
        ("abs", (0xFFFFFFFF,), 1, (1, 0)),
        ("clb", (0,), 0, (32, 0)),
        ("clb", (0xFFFFFFFF,), 0, (32, 0)),
        ("clb", (1,), 0, (31, 0)),
        ("adc", (0xFFFFFFFF, 0), 1, (0, 1)),
        ("sbc", (0, 0), 1, (0xFFFFFFFF, 1)),
        ("sub", (0, 1), 0, (0xFFFFFFFF, 1)),
    ],
)
def test_operations_by_hand(op, operands, carry, expected):
    assert computed(op, *operands, carry=carry) == expected


def test_selections_read_the_third_word():
    assert [computed(op, 5, 7, acc=acc)[0] for op in ("seleqz", "selnez") for acc in (0, 1 << 31)] == [5, 7, 7, 5]


@settings(deadline=None, max_examples=200)
@given(words, words)
def test_thirty_two_steps_divide(dividend, divisor):
    """By 0 the quotient is all ones and the rest the dividend."""
    rest, quotient = of(0), of(dividend)
    twin = 0, dividend
    for _ in range(32):
        rest, quotient = aie.divide_step(rest, quotient, of(divisor))
        twin = exact.divide_step(*twin, divisor)
    assert (int(rest), int(quotient)) == twin
    expected = divmod(dividend, divisor) if divisor else ((1 << 32) - 1, dividend)
    assert twin == expected[::-1]


@settings(deadline=None, max_examples=300)
@given(words, words, words)
def test_any_step(rest, quotient, divisor):
    got = aie.divide_step(*map(of, (rest, quotient, divisor)))
    assert tuple(map(int, got)) == exact.divide_step(rest, quotient, divisor)


@pytest.mark.parametrize("name", NAMES)
def test_functions_at_edges(name):
    """Every exponent, exact results, and results at midpoints with their neighbours."""
    codes = [*FORMAT_EDGES, *rounding_edges(FUNCTIONS[NAMES[name]], Random(name), 100)]
    codes = [code & ~FP32.sign_mask | code & FP32.sign_mask for code in codes]
    values, flags = aie.scalar_function(name, np.array(codes, np.uint32))
    expected = [exact.scalar_function(name, code) for code in codes]
    assert list(zip(values.tolist(), flags.tolist(), strict=True)) == expected
    seen = {flag for each in flags.tolist() for flag in Sr2 if each & flag}
    inv = {Sr2.TINY, Sr2.HUGE} if name == "inv" else set()
    assert seen == {Sr2.ZERO, Sr2.INFINITY, Sr2.INVALID, Sr2.INEXACT} | inv


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("fix_in", "fix_out"), [(None, None), (None, -3), (7, None), (31, -32)])
def test_boundaries(name, fix_in, fix_out):
    """Both ends of FP32's normal and subnormal numbers or of the integers, their neighbours and zeros."""
    ends = [(end + step) % (1 << 32) for end in (0, 1 << 31, 1 << 24) for step in (-2, -1, 0, 1)]
    codes = ends if fix_in is not None else integer_crossing(FP32, -(1 << 31), (1 << 31) - 1, 0)
    given = np.array(codes, np.uint32)
    values, flags = aie.scalar_function(
        name, given if fix_in is None else given.view(np.int32), fix_in=fix_in, fix_out=fix_out
    )
    signed = given.tolist() if fix_in is None else given.view(np.int32).tolist()
    expected = [exact.scalar_function(ScalarFunction(name), each, fix_in, fix_out) for each in signed]
    assert list(zip(values.tolist(), flags.tolist(), strict=True)) == expected


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(ScalarFunction), words, st.none() | st.integers(-32, 31), st.none() | st.integers(-32, 31))
def test_any_conversions_at_both_ends(function, word, fix_in, fix_out):
    argument = of(word) if fix_in is None else of(word).view(np.int32)
    got = aie.scalar_function(function, argument, fix_in=fix_in, fix_out=fix_out)
    assert tuple(map(int, got)) == exact.scalar_function(function, int(argument), fix_in, fix_out)


@pytest.mark.parametrize(
    ("function", "code", "result", "flags"),
    [
        ("inv", 0x40400000, 0x3EAAAAAB, Sr2.INEXACT),
        ("sqrt", 0x40000000, 0x3FB504F3, Sr2.INEXACT),
        ("invsqrt", 0x40000000, 0x3F3504F3, Sr2.INEXACT),
        ("inv", 0x80000000, 0xFF800000, Sr2.INFINITY),
        ("inv", 0xFF800000, 0x80000000, Sr2.ZERO),
        ("inv", 0x00000001, 0x7F800000, Sr2.INFINITY | Sr2.HUGE | Sr2.INEXACT),
        ("inv", 0x00400000, 0x7F000000, Sr2(0)),
        ("inv", 0x7F000000, 0x00400000, Sr2.TINY),
        ("inv", 0x7E800000, 0x00800000, Sr2(0)),
        ("inv", 0x7E800001, 0x007FFFFF, Sr2.TINY | Sr2.INEXACT),
        ("sqrt", 0x80000000, 0x80000000, Sr2.ZERO),
        ("sqrt", 0x7F800000, 0x7F800000, Sr2.INFINITY),
        ("sqrt", 0xFF800000, 0x7FC00000, Sr2.INVALID),
        ("sqrt", 0x80000001, 0x7FC00000, Sr2.INVALID),
        ("invsqrt", 0x80000000, 0xFF800000, Sr2.INFINITY),
        ("invsqrt", 0x7F800000, 0x00000000, Sr2.ZERO),
        ("invsqrt", 0x7FA00000, 0x7FC00000, Sr2.INVALID),
    ],
)
def test_functions_by_hand(function, code, result, flags):
    assert exact.scalar_function(function, code) == (result, flags)
    assert tuple(map(int, aie.scalar_function(function, of(code)))) == (result, flags)


def test_the_integer_form_is_three_steps():
    """1 / (6 / 4) with 8 fraction bits is 170.67 / 256; 1 / 0 saturates."""
    values, flags = aie.scalar_function("inv", np.array([6, 0], np.int32), fix_in=2, fix_out=8)
    assert values.tolist() == [171, (1 << 31) - 1]
    infinite = Sr2.TO_FLOAT_ZERO | Sr2.INFINITY | Sr2.TO_FIX_HUGE | Sr2.TO_FIX_INEXACT
    assert flags.tolist() == [Sr2.INEXACT | Sr2.TO_FIX_INEXACT, infinite]


@pytest.mark.parametrize(
    ("function", "arguments", "error", "sentence"),
    [
        (aie.scalar_op, ("abs", np.array([-1])), ValueError, "a must be 0 to 4294967295, not -1 to -1"),
        (aie.scalar_op, ("abs", np.array([1.0])), TypeError, "a must be an array of integers, not of float64"),
        (aie.scalar_function, ("inv", np.array([1], np.int32)), TypeError, "bits must be uint32, not int32"),
        (aie.divide_step, (np.ones(2, int), np.ones(3, int), of(1)), ValueError, "leading axes must broadcast"),
    ],
)
def test_mistakes(function, arguments, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        function(*arguments)
