"""Compiled loops of Trainium3 equal the exact twins bit for bit."""

from itertools import product

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import trainium3
from bitpath.golden.formats.catalogue import E4M3FN, E5M2
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX
from bitpath.golden.trainium3.matmul import array_loop
from bitpath.golden.trainium3.matmul.array import chain_rows
from bitpath.golden.trainium3.matmul.array_loop import NARROW, PLAIN, WIDE, choose_steps
from bitpath.golden.trainium3.operands import quantize_mx_loop
from bitpath.verif.trainium3.golden.samples import column_steps

E4, E5, FP4 = (np.dtype(each) for each in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float4_e2m1fn))
NUMERICS = TRAINIUM3_QUAD_MX.numerics
FORMATS = {"e4m3": E4M3FN, "e5m2": E5M2}
MAGNITUDES = (0, 1, 0x7FFFFF, 0x3F800000, 0x3F800001, 0x7F7FFFFF, 0x7F800000)
START = [0x7F800001, *(each | sign for each in MAGNITUDES for sign in (0, 1 << 31))]


def rows(rng, kind, fmt, p, free):
    """Elements [P, F, 4] and scales [P, F] of one kind."""
    codes = rng.integers(0, 256, (p, free, 4)).astype(np.uint8)
    finite = codes & 0x7F <= fmt.max_code
    if kind != "specials":
        codes = np.where(finite, codes, 0).astype(np.uint8)
    low, high = {"extreme": (0, 255), "specials": (100, 256), "zeros": (0, 255)}.get(kind, (122, 133))
    scale = rng.integers(low, high, (p, free)).astype(np.uint8)
    if kind == "subnormal":
        codes &= 0x80 | fmt.fraction_mask
        scale = np.full_like(scale, 3)
    elif kind == "wide":
        # Products from the smallest to the largest side by side: 66 bits with E5M2.
        codes = rng.choice(np.array([1, 0x81, fmt.max_code, fmt.max_code | 0x80], np.uint8), codes.shape)
        scale = np.full_like(scale, 127)
    elif kind == "zeros":
        codes = rng.choice(np.array([0, 0x80, 1, 0x81], np.uint8), codes.shape, p=[0.3, 0.6, 0.05, 0.05])
        scale = rng.choice(np.array([0, 1, 127, 254], np.uint8), scale.shape)
    elif kind == "ties":
        # Powers of two far apart: halves of the last place, and cancellation.
        codes = rng.choice(np.array([fmt.bias, fmt.bias | 0x80 >> fmt.fraction_bits], np.uint8), codes.shape)
        codes = (codes << fmt.fraction_bits).astype(np.uint8)
        scale = rng.choice(np.array([127, 127 - 12, 127 + 12], np.uint8), scale.shape)
    return codes, scale


KINDS = ("random", "extreme", "specials", "subnormal", "wide", "zeros", "ties")


@pytest.mark.parametrize(("x_format", "y_format"), list(product(FORMATS, repeat=2)))
@pytest.mark.parametrize("kind", KINDS)
def test_rows(kind, x_format, y_format):
    """Every kind of rows from every partial sum, and from +0; blocks that are full and that are not."""
    rng = np.random.default_rng(KINDS.index(kind))
    formats = FORMATS[x_format], FORMATS[y_format]
    (x, x_scale), (y, y_scale) = rows(rng, kind, formats[0], 12, len(START)), rows(rng, kind, formats[1], 12, 67)
    start = np.repeat(np.array(START, np.uint32)[:, np.newaxis], 67, axis=1)
    sides = (x, formats[0], x_scale), (y, formats[1], y_scale)
    for begin in (start, None):
        got = chain_rows(NUMERICS, *sides[0], *sides[1], begin)
        for m, n in {(0, 0), (4, 66), *zip(rng.integers(len(START), size=20), rng.integers(67, size=20), strict=True)}:
            first = 0 if begin is None else START[m]
            assert got[m, n] == column_steps(NUMERICS, *sides, m, n, first)[-1].result


def test_more_cores_give_the_same(monkeypatch):
    rng = np.random.default_rng(8)
    (x, x_scale), (y, y_scale) = rows(rng, "random", E4M3FN, 8, 10), rows(rng, "random", E5M2, 8, 150)
    results = []
    for cores in ("1", "2"):
        monkeypatch.setenv("BITPATH_THREADS", cores)
        results.append(chain_rows(NUMERICS, x, E4M3FN, x_scale, y, E5M2, y_scale))
    assert np.array_equal(*results)


@pytest.mark.parametrize(
    ("partial", "large", "small", "expected"),
    [
        (0x3F800000, 0x78, 0x01, 0x3F800001),  # 1 + 2**-24, a tie, and 2**-58 more
        (0x3F800000, 0x78, 0x81, 0x3F800000),  # 1 + 2**-24 - 2**-58, below the tie
        (0x3F800001, 0x78, 0x81, 0x3F800001),
        (0xBF800000, 0xF8, 0x81, 0xBF800001),
        (0x3F800000, 0x78, 0x00, 0x3F800000),
    ],
)
def test_what_float64_loses_decides_a_tie(partial, large, small, expected):
    """A sum of 59 bits: rounded to float64 first, each of these is the tie."""
    x = np.array([[[large, small, 0, 0]]], np.uint8)
    y = np.array([[[0x78, 0x01, 0, 0]]], np.uint8)
    scales = (np.array([[code]], np.uint8) for code in (127 - 40, 127))
    start = np.array([[partial]], np.uint32)
    got = chain_rows(NUMERICS, x, E4M3FN, next(scales), y, E4M3FN, next(scales), start)
    assert got[0, 0] == expected


@pytest.mark.parametrize(
    ("small", "step", "expected"),
    [
        ((0x1D, 0x1D), WIDE, 25 * 2**-20),  # (1.25 * 2**-8)**2
        ((0x1D, 0x21), NARROW, 25 * 2**-19),  # 1.25 * 2**-8 times 1.25 * 2**-7
        ((0x21, 0x21), NARROW, 25 * 2**-18),
        ((0x21, 0x25), PLAIN, 25 * 2**-17),
    ],
)
def test_the_widest_sums_that_one_float64_holds(monkeypatch, small, step, expected):
    """E5M2: row 0 takes 3 * (1.75 * 2**15)**2 away, and row 1 adds it again with one small product.

    The four products of row 1 sum to 9.1875 * 2**30 + 25 * 2**-20: from 2**33 to 2**-20 these are 54 bits, one more than a
    float64 has, so the row must go the wide way. A float64 holds the sum of 53 bits, whose last is 2**-19. With the partial
    sum, which may have been rounded up, the row passes 2**35; a float64 holds all sums where the last bit is 2**-17.
    """
    largest = E5M2.max_code
    x = np.array([[[largest, largest, largest, 0]], [[largest, largest, largest, small[0]]]], np.uint8)
    y = np.array([[[largest | 0x80] * 3 + [0]], [[largest, largest, largest, small[1]]]], np.uint8)
    scale = np.full((2, 1), 127, np.uint8)
    got = chain_rows(NUMERICS, x, E5M2, scale, y, E5M2, scale)
    assert got.view(np.float32)[0, 0] == expected
    steps, sides = (
        np.zeros(2, np.int64),
        [array_loop.packed(NUMERICS, each[:, np.newaxis], E5M2, scale[:, np.newaxis], 1) for each in (x, y)],
    )
    choose_steps(*(each[0, 0] for side in sides for each in side[2:]), 2, False, steps)
    assert steps.tolist() == [PLAIN, step]


def test_one_kernel_is_compiled_for_all_shapes(monkeypatch):
    """Numba's compiled code depends on the layout of the arrays, and on whether the numerics need the fourth step."""
    monkeypatch.setenv("BITPATH_THREADS", "2")
    for free in (3, 2 * array_loop.COLUMNS):
        x = np.zeros((8, free, 4), np.uint8)
        for start in (None, np.zeros((free, free), np.uint32)):
            chain_rows(NUMERICS, x, E5M2, x[..., 0], x, E5M2, x[..., 0], start)
    of_fields = [each[12] for each in array_loop._chain.signatures]
    assert len({*of_fields}) == len(of_fields) > 0


@pytest.mark.parametrize(("m", "n"), [(0, 3), (2, 0)])
def test_no_rows_and_no_columns(m, n):
    x, y = (np.zeros((8, free, 4), np.uint8) for free in (m, n))
    got = chain_rows(NUMERICS, x, E5M2, x[..., 0], y, E5M2, y[..., 0])
    assert (got.shape, got.dtype) == ((m, n), np.uint32)


def test_quantize_mx_on_two_threads(monkeypatch):
    monkeypatch.setenv("BITPATH_THREADS", "2")
    x = np.random.default_rng(6).standard_normal((32, 20)).astype(ml_dtypes.bfloat16)
    whole = trainium3.quantize_mx(x, E4)
    monkeypatch.setattr(quantize_mx_loop, "COLUMNS", 8)
    starts, kernel = [], quantize_mx_loop._quantize
    monkeypatch.setattr(quantize_mx_loop, "_quantize", lambda *given: starts.append(given[3]) or kernel(*given))
    parts = trainium3.quantize_mx(x, E4)
    assert sorted(starts) == [0, 16]
    assert all(
        np.array_equal(one.view(np.uint8), other.view(np.uint8)) for one, other in zip(whole, parts, strict=True)
    )
