"""The vectorised array against the scalar authority, bit for bit."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.arrays.codec import decode_array, encode_array
from bitpath.golden.formats.catalogue import BF16, E4M3FN, E5M2, FP32, TF32, Rounding
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX, TRAINIUM3_QUAD_MX_ALIGNED, ScaleNan
from bitpath.golden.trainium3.matmul.array import chain_rows
from bitpath.golden.trainium3.matmul.array_loop import sum_to_odd
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.dot.quad_mx import case_columns
from bitpath.verif.trainium3.dot.quad_mx_corners import BOUNDARIES
from bitpath.verif.trainium3.golden.exact_columns import column_steps

EXACT = TRAINIUM3_QUAD_MX.numerics
ALIGNED = TRAINIUM3_QUAD_MX_ALIGNED.numerics
S1E8M15 = replace(FP32, name="S1E8M15", fraction_bits=15, nan_code=0x7FC000)
NUMERICS = {
    "exact": EXACT,
    "exact_rtz": replace(EXACT, accumulator_rounding=Rounding.RTZ),
    "exact_flush": replace(EXACT, accumulator_subnormals=False),
    "exact_flush_elements": replace(EXACT, element_subnormals=False),
    "exact_scale_infinity": replace(EXACT, scale_nan=ScaleNan.INFINITY),
    "exact_saturating": replace(EXACT, overflow_to_infinity=False),
    "exact_saturating_rtz": replace(EXACT, overflow_to_infinity=False, accumulator_rounding=Rounding.RTZ),
    "exact_tf32": replace(EXACT, accumulator=TF32),
    "exact_m15_rtz": replace(EXACT, accumulator=S1E8M15, accumulator_rounding=Rounding.RTZ),
    "exact_bf16_flush": replace(EXACT, accumulator=BF16, accumulator_subnormals=False),
    "aligned": ALIGNED,
    "aligned_nearest": replace(ALIGNED, align_rounding=Rounding.RNE, accumulator_rounding=Rounding.RNE),
    "aligned_0": replace(ALIGNED, align_fraction_bits=0),
    "aligned_9_bf16": replace(ALIGNED, align_fraction_bits=9, accumulator=BF16),
    "aligned_24": replace(ALIGNED, align_fraction_bits=24, align_rounding=Rounding.RNE),
    "aligned_60": replace(ALIGNED, align_fraction_bits=60),
    "aligned_2000": replace(ALIGNED, align_fraction_bits=2000),
    "aligned_flush": replace(ALIGNED, accumulator_subnormals=False, element_subnormals=False),
    "aligned_scale_infinity": replace(ALIGNED, scale_nan=ScaleNan.INFINITY, overflow_to_infinity=False),
}
PAIRS = list(product((E4M3FN, E5M2), repeat=2))
F = 12
"""Free size of either side: F * F steps a case."""


def element_codes(rng, fmt, kind):
    codes = rng.integers(0, 256, (F, 4))
    if kind == "finite":
        codes = np.where(codes & 0x7F > fmt.max_code, codes & 0x83, codes)
    if kind == "zeros":
        codes &= 0x81  # zeros and smallest subnormals of both signs
    return codes.astype(np.uint8)


def scale_codes(rng, kind):
    match kind:
        case "finite":
            return rng.integers(0, 255, F).astype(np.uint8)
        case "zeros":
            return rng.integers(0, 140, F).astype(np.uint8)
        case _:
            anywhere = rng.integers(0, 256, F)
            special = rng.choice([0, 1, 64, 126, 127, 128, 200, 254, 255], F)
            return np.where(rng.random(F) < 0.7, special, anywhere).astype(np.uint8)


def partial_sums(rng, numerics, x, x_format, y, y_format, x_scale, y_scale):
    """A third anywhere, a third near minus the sum of the products, a third among the special values."""
    anywhere = rng.integers(0, 1 << 32, (F, F))
    with np.errstate(invalid="ignore", over="ignore"):
        xv = decode_array(x_format, x) * np.ldexp(1.0, x_scale.astype(int) - 127)[:, np.newaxis]
        yv = decode_array(y_format, y) * np.ldexp(1.0, y_scale.astype(int) - 127)[:, np.newaxis]
        near = encode_array(FP32, -np.nan_to_num(np.einsum("mi,ni->mn", xv, yv))) + rng.integers(-1, 2, (F, F))
    special = rng.choice([0, 1 << 31, 1, 0x80000001, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000], (F, F))
    codes = np.choose(rng.integers(0, 3, (F, F)), [anywhere, near & 0xFFFFFFFF, special])
    return (codes & -(1 << 23 - numerics.accumulator.fraction_bits)).astype(np.uint32)


@pytest.mark.parametrize("kind", ["finite", "any", "zeros"])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0].name}x{pair[1].name}")
@pytest.mark.parametrize("name", NUMERICS)
def test_one_step(name, pair, kind):
    numerics = NUMERICS[name]
    rng = np.random.default_rng([list(NUMERICS).index(name), PAIRS.index(pair), len(kind)])
    x, y = (element_codes(rng, fmt, kind) for fmt in pair)
    x_scale, y_scale = scale_codes(rng, kind), scale_codes(rng, kind)
    if kind == "finite":  # half of the scales' exponents cancel, so that results are in range
        y_scale[::2] = 254 - x_scale[::2]
    start = partial_sums(rng, numerics, x, pair[0], y, pair[1], x_scale, y_scale)
    sides = (x[None], pair[0], x_scale[None]), (y[None], pair[1], y_scale[None])
    got = chain_rows(numerics, *sides[0], *sides[1], start)
    for m, n in np.ndindex(F, F):
        assert got[m, n] == column_steps(numerics, *sides, m, n, start[m, n])[-1].result


@covers("quad_mx_dot.boundary")
@pytest.mark.parametrize("name", ["exact", "exact_rtz", "aligned"])
def test_sums_at_boundaries(name):
    """The bench's corners of every boundary, on the diagonal of a grid, and the reported one first."""
    numerics = NUMERICS[name]
    cases = [corner.case for maker in BOUNDARIES for corner in maker(numerics, Random(name))]
    for x_format, y_format, chosen, (x, x_scale, y, y_scale, partial) in case_columns(cases):
        sides = (x[None], x_format, x_scale[None]), (y[None], y_format, y_scale[None])
        got = chain_rows(numerics, *sides[0], *sides[1], np.diag(partial)).diagonal()
        assert got.tolist() == [cases[index].trace(numerics).result for index in chosen]


@pytest.mark.parametrize("name", NUMERICS)
def test_chain(name):
    numerics = NUMERICS[name]
    rng = np.random.default_rng(list(NUMERICS).index(name))
    rows, m, n = 32, 3, 3
    x, y = rng.integers(0, 0x7C, (rows, m, 4)), rng.integers(0, 0x7C, (rows, n, 4))
    x, y = x | rng.choice([0, 0x80], x.shape), y | rng.choice([0, 0x80], y.shape)
    x_scale, y_scale = rng.integers(120, 135, (rows, m)), rng.integers(120, 135, (rows, n))
    sides = (x, E5M2, x_scale), (y, E4M3FN, y_scale)
    got = chain_rows(numerics, *sides[0], *sides[1])
    for i, j in np.ndindex(m, n):
        assert got[i, j] == column_steps(numerics, *sides, i, j)[-1].result


def test_all_pairs_of_elements():
    """ucb-bar/saturn-vectors#101: random vectors miss bugs of 8-bit formats that a sweep of all operands does not.

    A single product has at most 8 significant bits, so FP32 holds it: the reference is the decoded values' product.
    """
    for x_format, y_format in PAIRS:
        lanes = np.zeros((1, 256, 4), np.uint8)
        lanes[0, :, 0] = np.arange(256)
        ones = np.full((1, 256), 127)
        got = chain_rows(EXACT, lanes, x_format, ones, lanes, y_format, ones)
        values = [decode_array(fmt, np.arange(256)) for fmt in (x_format, y_format)]
        with np.errstate(invalid="ignore"):
            expected = np.multiply.outer(*values) + 0.0
        assert np.array_equal(got, encode_array(FP32, expected))


term = st.builds(lambda m, e: float(np.ldexp(float(m), e)), st.integers(-(2**53), 2**53), st.integers(-200, 200))


@settings(max_examples=500, deadline=None)
@given(st.lists(term, min_size=5, max_size=5), st.integers(0, 2))
def test_sum_to_odd(terms, cancelled):
    """Rounded to odd, then to 24 bits, equals the exact sum rounded once."""
    terms[5 - cancelled :] = [-value for value in terms[:cancelled]]
    exact = sum(map(Fraction, terms))
    got = sum_to_odd(*terms)
    if exact == int(exact) and abs(exact) < 2**53:
        assert got == exact
    elif Fraction(got) != exact:
        assert np.float64(got).view(np.int64) & 1 == 1
        assert abs(Fraction(got) - exact) < Fraction(float(np.spacing(abs(got))))
    for rounding in (Rounding.RNE, Rounding.RTZ):
        assert encode_array(FP32, np.array([got]), rounding=rounding)[0] & 0x7FFFFFFF == (
            round_to_format(exact, FP32, rounding) & 0x7FFFFFFF
        )


def test_start_is_checked():
    zeros = np.zeros((1, 1, 4), np.uint8)
    ones = np.full((1, 1), 127)
    with pytest.raises(ValueError, match="start has bits below the accumulator's grid; the lowest 16 bits"):
        chain_rows(replace(EXACT, accumulator=BF16), zeros, E5M2, ones, zeros, E5M2, ones, np.array([[1]], np.uint32))


@pytest.mark.parametrize("lanes", [2, 8])
def test_words_of_other_than_four_elements_are_refused(lanes):
    """The compiled loop has four lanes: of two it read beyond its memory, of eight it left four out."""
    zeros, ones = np.zeros((1, 1, lanes), np.uint8), np.full((1, 1), 127)
    with pytest.raises(ValueError, match=f"^stationary must have 4 elements in a word, not {lanes}$"):
        chain_rows(replace(EXACT, terms=lanes), zeros, E5M2, ones, zeros, E5M2, ones)
