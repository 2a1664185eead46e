"""Dot products of the quad MX array: one step by hand, arrays against the scalar tier, and the error of the aligned numerics."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.arrays.codec import decode_array, encode_array
from bitpath.golden.formats.catalogue import BF16, E2M1, E4M3FN, E5M2, FP32, TF32, FloatFormat, Rounding
from bitpath.golden.formats.dot import ScaleNan
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.dot import dot_step, trace_dot_product, trace_dot_step
from bitpath.golden.scalar.rounding import round_to_format, ulp
from bitpath.golden.trainium3 import matmul
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX, TRAINIUM3_QUAD_MX_ALIGNED
from bitpath.golden.trainium3.matmul.array import chain_rows
from bitpath.golden.trainium3.matmul.array_loop import sum_to_odd
from bitpath.sim.flows.operands import layer
from bitpath.verif.common.dot.cases import random_cases
from bitpath.verif.common.dot.directed_corners import BOUNDARIES
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.dot.quad_mx import case_columns
from bitpath.verif.trainium3.golden.samples import column_steps

# One dot step by hand: operands and results in hexadecimal, worked out from the definition.


EXACT = TRAINIUM3_QUAD_MX.numerics
RTZ = replace(EXACT, accumulator_rounding=Rounding.RTZ)
ALIGNED = TRAINIUM3_QUAD_MX_ALIGNED.numerics
ONE, MINUS_ONE, TWO, TINY = 0x38, 0xB8, 0x40, 0x01  # E4M3FN: 1, -1, 2, 2**-9
ZERO, MINUS_ZERO, NAN = 0x00, 0x80, 0x7F
INF5, MINUS_INF5, ONE5 = 0x7C, 0xFC, 0x3C  # E5M2: infinity, -infinity, 1
CANONICAL = 0x7FC00000


def step(x, y, partial=0, scales=(127, 127), numerics=EXACT, fmt: FloatFormat = E4M3FN):
    """A step with the missing elements +0."""
    pad = [ZERO] * 4
    return dot_step(numerics, (x + pad)[:4], fmt, (y + pad)[:4], fmt, *scales, partial)


def test_four_products():
    # 1*1 + 2*2 - 1*2 + 2**-9*1 = 3 + 2**-9
    assert step([ONE, TWO, MINUS_ONE, TINY], [ONE, TWO, TWO, ONE]) == 0x40402000


def test_scales_multiply_and_their_exponents_add():
    assert step([ONE], [ONE], scales=(130, 126)) == 0x40800000
    assert step([ONE], [ONE], scales=(0, 254)) == 0x3F800000
    assert step([ONE], [ONE], scales=(254, 0)) == 0x3F800000


def test_one_ulp_cancellation():
    # (1 + 2**-23) - 1 leaves the last bit of the partial sum.
    assert step([MINUS_ONE], [ONE], 0x3F800001) == 0x34000000
    # (1 - 2**-24) - 1 = -2**-24
    assert step([MINUS_ONE], [ONE], 0x3F7FFFFF) == 0xB3800000


def test_rounding_is_fused():
    """gem5#2478: multiply, round, then add is another machine.

    p = 2**24 with products 1 and 2**-9: the sum is above the tie between 2**24 and 2**24 + 2. Products rounded with p one
    by one, or dropped below it, leave the tie and go to even.
    """
    assert step([ONE], [ONE], 0x4B800000) == 0x4B800000  # the tie itself, to even
    assert step([ONE, TINY], [ONE, ONE], 0x4B800000) == 0x4B800001
    assert step([ONE, TINY], [ONE, TINY], 0x4B800000) == 0x4B800001  # 2**-18 above the tie
    # And from above: 2**24 + 2 + 1 is a tie that goes up to even, 2**-18 less does not.
    assert step([ONE], [ONE], 0x4B800001) == 0x4B800002
    assert step([ONE, TINY], [ONE, 0x81], 0x4B800001) == 0x4B800001


def test_product_sum_is_not_rounded_before_the_partial_sum_is_added():
    # 57344**2 + 2**-32 needs 64 bits; with p = -57344**2 the small product remains alone.
    big = decode(E5M2, 0x7B).value ** 2
    partial = 0xCF440000
    assert decode(FP32, partial).value == -big
    assert step([0x7B, 0x01], [0x7B, 0x01], partial, fmt=E5M2) == 0x2F800000  # 2**-32


def test_cancellation_across_distant_scales():
    # Products 2**127 and -2**127 cancel beside p = 2**-149.
    assert step([ONE, MINUS_ONE], [ONE, ONE], 0x00000001, scales=(254, 127)) == 0x00000001


def test_rtz_truncates_the_magnitude():
    assert step([ONE], [ONE], 0x4B800001, numerics=RTZ) == 0x4B800001
    assert step([MINUS_ONE], [ONE], 0xCB800001, numerics=RTZ) == 0xCB800001
    assert step([TINY], [MINUS_ONE], 0x4B800000, numerics=RTZ) == 0x4B7FFFFF


def test_subnormal_results():
    assert step([ONE], [ONE], scales=(0, 105)) == 0x00000001  # 2**-149
    assert step([ONE], [ONE], scales=(0, 104)) == 0x00000000  # 2**-150: tie to even zero
    assert step([0x3C], [ONE], scales=(0, 104)) == 0x00000001  # 1.5 * 2**-150
    assert step([0xB8], [ONE], scales=(0, 104)) == 0x80000000  # -2**-150: tie to even -0
    assert step([0x39], [ONE], scales=(0, 127)) == 0x00480000  # 1.125 * 2**-127
    # The largest subnormal and 2**-150: up into the smallest normal number.
    assert step([ONE], [ONE], 0x007FFFFF, scales=(0, 104)) == 0x00800000


@covers("quad_mx_dot.boundary")
def test_a_product_far_below_a_subnormal_tie_decides():
    # 2**16 and 2**-18 times 2**-166: 2**-150 is the tie of 0 and 2**-149, and 2**-184 is above it.
    assert step([0x78, TINY], [0x78, TINY], scales=(0x2C, 0x2C)) == 0x00000001
    assert step([0xF8, 0x81], [0x78, TINY], scales=(0x2C, 0x2C)) == 0x80000001
    assert step([0x78, 0x81], [0x78, TINY], scales=(0x2C, 0x2C)) == 0x00000000  # 2**-184 below the tie


def test_flushing():
    numerics = replace(EXACT, accumulator_subnormals=False)
    assert step([ONE], [ONE], scales=(0, 105), numerics=numerics) == 0x00000000
    assert step([MINUS_ONE], [ONE], scales=(0, 105), numerics=numerics) == 0x80000000
    assert step([ZERO], [ONE], 0x007FFFFF, numerics=numerics) == 0x00000000
    # Read as -0, but +0 products make +0.
    assert step([ZERO], [ONE], 0x807FFFFF, numerics=numerics) == 0x00000000
    assert step([MINUS_ZERO] * 4, [ONE] * 4, 0x807FFFFF, numerics=numerics) == 0x80000000
    # Rounding comes first: 2**-126 - 2**-151 becomes the smallest normal number.
    assert step([ONE5, 0x81], [ONE5, 0x18], scales=(1, 127), numerics=numerics, fmt=E5M2) == 0x00800000
    assert step([ONE, 0x81], [ONE, TINY], scales=(1, 127), numerics=numerics) == 0x00000000
    assert step([ONE, 0x81], [ONE, TINY], scales=(1, 127)) == 0x007FFFE0


def test_subnormal_elements():
    numerics = replace(EXACT, element_subnormals=False)
    assert step([TINY], [ONE]) == 0x3B000000
    assert step([TINY], [ONE], numerics=numerics) == 0x00000000
    assert step([0x81, MINUS_ZERO, MINUS_ZERO, MINUS_ZERO], [ONE] * 4, 0x80000000, numerics=numerics) == 0x80000000
    assert step([0x08], [ONE], numerics=numerics) == 0x3C800000  # 2**-6 is the smallest normal


def test_overflow():
    assert step([ONE], [TWO], scales=(254, 127)) == 0x7F800000  # 2**128
    assert step([MINUS_ONE], [TWO], scales=(254, 127)) == 0xFF800000
    assert step([0x3F], [ONE], scales=(254, 127)) == 0x7F700000  # 1.875 * 2**127
    # The largest number and half its last place is the tie to 2**128.
    assert step([ONE], [ONE], 0x7F7FFFFF, scales=(127, 127 + 103)) == 0x7F800000
    assert step([0x37], [ONE], 0x7F7FFFFF, scales=(127, 127 + 103)) == 0x7F7FFFFF
    assert step([ONE], [ONE], 0x7F7FFFFF, scales=(127, 127 + 103), numerics=RTZ) == 0x7F7FFFFF
    assert step([ONE], [TWO], scales=(254, 127), numerics=RTZ) == 0x7F800000
    # Far beyond FP32 and back within one step.
    assert step([0x7E, 0xFE], [0x7E, 0x7E], 0x3F800000, scales=(254, 254)) == 0x3F800000


def test_overflow_to_the_largest_number():
    numerics = replace(EXACT, overflow_to_infinity=False)
    assert step([ONE], [TWO], scales=(254, 127), numerics=numerics) == 0x7F7FFFFF
    assert step([MINUS_ONE], [TWO], scales=(254, 127), numerics=numerics) == 0xFF7FFFFF
    assert step([ZERO], [ONE], 0x7F800000, numerics=numerics) == 0x7F800000  # an infinite partial sum stays infinite


def test_signs_of_zero():
    negative = [MINUS_ZERO] * 4
    assert step(negative, [ONE] * 4, 0x80000000) == 0x80000000
    assert step(negative, [ONE] * 4, 0x00000000) == 0x00000000
    assert step(negative, [ONE, ONE, ONE, MINUS_ONE], 0x80000000) == 0x00000000
    assert step([ZERO] * 4, [MINUS_ONE] * 4, 0x80000000) == 0x80000000
    assert step([ONE, MINUS_ONE, MINUS_ZERO, MINUS_ZERO], [ONE] * 4, 0x80000000) == 0x00000000
    assert step([ONE], [ONE], 0xBF800000) == 0x00000000
    assert step([ONE], [ONE], 0xBF800000, numerics=RTZ) == 0x00000000


def test_nan_and_infinity():
    assert step([NAN], [ONE]) == CANONICAL
    assert step([ZERO], [0xFF]) == CANONICAL
    assert step([ONE], [ONE], 0xFFFFFFFF) == CANONICAL
    assert step([ONE], [ONE], 0x7F800001) == CANONICAL
    assert step([INF5], [ONE5], fmt=E5M2) == 0x7F800000
    assert step([INF5], [0xBC], fmt=E5M2) == 0xFF800000
    assert step([INF5], [ZERO], fmt=E5M2) == CANONICAL
    assert step([INF5, MINUS_INF5], [ONE5, ONE5], fmt=E5M2) == CANONICAL
    assert step([INF5], [ONE5], 0xFF800000, fmt=E5M2) == CANONICAL
    assert step([INF5], [ONE5], 0x7F800000, fmt=E5M2) == 0x7F800000
    assert step([INF5], [ONE5], 0xFF7FFFFF, scales=(0, 0), fmt=E5M2) == 0x7F800000


def test_scale_nan():
    assert step([ONE] * 4, [ONE] * 4, scales=(255, 127)) == CANONICAL
    assert step([ZERO], [ZERO], scales=(127, 255)) == CANONICAL
    infinity = replace(EXACT, scale_nan=ScaleNan.INFINITY)
    assert step([ONE] * 4, [ONE] * 4, scales=(255, 127), numerics=infinity) == 0x7F800000
    assert step([MINUS_ONE] * 4, [ONE] * 4, scales=(127, 255), numerics=infinity) == 0xFF800000
    assert step([ONE, MINUS_ONE, ONE, ONE], [ONE] * 4, scales=(255, 127), numerics=infinity) == CANONICAL
    assert step([ONE, ONE, ONE, ZERO], [ONE] * 4, scales=(127, 255), numerics=infinity) == CANONICAL
    assert step([ONE] * 4, [ONE] * 4, scales=(255, 0), numerics=infinity) == 0x7F800000


def test_narrow_accumulator():
    numerics = replace(EXACT, accumulator=BF16)
    assert step([ONE, TINY], [ONE, TWO], numerics=numerics) == 0x3F800000  # 1 + 2**-8: tie to even
    assert step([ONE, TINY], [ONE, 0x44], numerics=numerics) == 0x3F810000  # 1 + 3 * 2**-9
    assert step([ONE], [ONE], scales=(0, 127 - 6), numerics=numerics) == 0x00010000  # 2**-133, BF16 subnormal
    assert step([ONE], [ONE], scales=(0, 127 - 7), numerics=numerics) == 0x00000000
    assert step([ONE], [TWO], scales=(254, 127), numerics=numerics) == 0x7F800000
    saturating = replace(numerics, overflow_to_infinity=False)
    assert step([ONE], [TWO], scales=(254, 127), numerics=saturating) == 0x7F7F0000
    with pytest.raises(ValueError, match="partial_sum is 0x3f800001; its lowest 16 bits are 0"):
        step([ONE], [ONE], 0x3F800001, numerics=numerics)


def test_alignment_truncates_below_the_largest_exponent():
    """F = 16: beside a largest term of 1, each term is truncated at 2**-16 before the sum."""
    assert step([ONE], [ONE], 0x377FFFFF, numerics=ALIGNED) == 0x3F800000  # just below 2**-16
    assert step([ONE], [ONE], 0x37800000, numerics=ALIGNED) == 0x3F800080
    assert step([MINUS_ONE], [ONE], 0x37FFFFFF, numerics=ALIGNED) == 0xBF7FFF00
    nearest = replace(ALIGNED, align_rounding=Rounding.RNE)
    assert step([ONE], [ONE], 0x377FFFFF, numerics=nearest) == 0x3F800080
    assert step([ONE], [ONE], 0x37000000, numerics=nearest) == 0x3F800000  # 0.5 units: tie to even
    assert step([ONE], [ONE], 0x37C00000, numerics=nearest) == 0x3F800100  # 1.5 units: tie to even


def test_alignment_goes_by_the_exponent_before_normalisation():
    # 1.5 * 1.5 = 2.25 has exponent 0 and keeps a p of 2**-16; the normal form's exponent 1 would drop it.
    assert step([0x3C], [0x3C], 0x37800000, numerics=ALIGNED) == 0x40100040
    # A zero product's exponent does not count, a subnormal's is emin: 2**-9 * 1 goes by -6.
    assert step([ZERO, ONE], [0x7E, ONE], 0x37800000, numerics=ALIGNED) == 0x3F800080
    assert step([TINY], [ONE], 0x347FFFFF, numerics=ALIGNED) == 0x3B000000
    assert step([TINY], [ONE], 0x34800000, numerics=ALIGNED) == 0x3B000400


def test_alignment_to_zero():
    coarse = replace(ALIGNED, align_fraction_bits=0)
    # -2**-18 counts as exponent -12: it is cut to zero, and so the sum has only negative signs.
    assert step([TINY] * 4, [0x81] * 4, 0x80000000, numerics=coarse) == 0x80000000
    assert step([TINY] * 4, [0x81] * 4, 0x00000000, numerics=coarse) == 0x00000000
    assert step([TINY] * 4, [TINY] * 4, 0x80000000, numerics=coarse) == 0x00000000


def test_trace_keeps_everything():
    trace = trace_dot_step(ALIGNED, [ONE, ZERO, ZERO, ZERO], E4M3FN, [ONE] * 4, E4M3FN, 128, 127, 0x37FFFFFF)
    assert [term.value for term in trace.terms] == [2, 0, 0, 0, decode(FP32, 0x37FFFFFF).value]
    assert trace.align_exponent == 1
    assert trace.aligned == (2, 0, 0, 0, 0)
    assert trace.total == 2
    assert trace.exact == 2 + decode(FP32, 0x37FFFFFF).value
    assert trace.error_ulp == -decode(FP32, 0x37FFFFFF).value * 2**22
    special = trace_dot_step(EXACT, [NAN] * 4, E4M3FN, [ONE] * 4, E4M3FN, 127, 127, 0)
    assert (special.total, special.exact, special.error_ulp, special.aligned) == (None, None, None, ())


def test_chain_goes_in_order_from_plus_zero():
    """hw-native-sys/pto-isa#280: the order of accumulation is part of the contract."""
    big, one, minus = [[0x7E, 0, 0, 0]], [[ONE, 0, 0, 0]], [[0xFE, 0, 0, 0]]
    y = [[ONE] * 4] * 3
    scales = ([147, 127, 147], [127] * 3)  # 448 * 2**20 swallows 1
    forward = trace_dot_product(EXACT, big + one + minus, E4M3FN, y, E4M3FN, *scales)
    assert [each.result for each in forward] == [0x4DE00000, 0x4DE00000, 0x00000000]
    other = trace_dot_product(EXACT, big + minus + one, E4M3FN, y, E4M3FN, [147, 147, 127], [127] * 3)
    assert other[-1].result == 0x3F800000
    started = trace_dot_product(EXACT, one, E4M3FN, y[:1], E4M3FN, [127], [127], 0x3F800000)
    assert started[0].result == 0x40000000
    with pytest.raises(ValueError, match=r"codes and scales must have the same number of rows, not \[1, 3\]"):
        trace_dot_product(EXACT, one, E4M3FN, y, E4M3FN, [127], [127])


def test_errors():
    with pytest.raises(ValueError, match="stationary_format must be E4M3FN or E5M2, not E2M1"):
        step([ONE], [ONE], fmt=E2M1)
    with pytest.raises(ValueError, match="moving_codes must have 4 elements, not 3"):
        dot_step(EXACT, [ONE] * 4, E4M3FN, [ONE] * 3, E4M3FN, 127, 127, 0)
    with pytest.raises(ValueError, match="code is 256"):
        step([ONE], [ONE], scales=(256, 127))


# The vectorised array against the scalar authority, bit for bit.


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


# How far the aligned numerics stay from the exact ones: a bound of each step, and measured errors, which ``-s`` prints.


def test_a_step_is_within_a_unit_of_the_grid_for_each_term():
    """Truncation takes less than a unit of the aligned grid from each term, and less than a last place from their sum."""
    largest, checked = Fraction(0), 0
    for case in random_cases(ALIGNED, Random("aligned error"), 2000):
        trace = case.trace(ALIGNED)
        result = decode(FP32, trace.result)
        if trace.align_exponent is None or result.kind is not Kind.FINITE:
            continue
        unit = Fraction(2) ** (trace.align_exponent - ALIGNED.align_fraction_bits)
        error, place = abs(result.value - trace.exact), ulp(FP32, trace.total)
        assert error < len(trace.terms) * unit + place
        largest, checked = max(largest, error / max(unit, place)), checked + 1
    assert checked > 1000
    print(f"\none step: at most {float(largest):.2f} units of the aligned grid in {checked} random steps")


def gaussian() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(20260101)
    return rng.standard_normal((32, 512), dtype=np.float32), rng.standard_normal((512, 64), dtype=np.float32)


def cut_layer() -> tuple[np.ndarray, np.ndarray]:
    a, b = layer()
    return a[:32], b[:, :64]


@pytest.mark.parametrize("operands", [gaussian, cut_layer], ids=["gaussian 32x512x64", "real layer 32x384x64"])
def test_error_of_a_matmul(operands, request):
    a, b = operands()
    exact, aligned = (
        matmul(a, b, numerics=preset.numerics).astype(np.float64)
        for preset in (TRAINIUM3_QUAD_MX, TRAINIUM3_QUAD_MX_ALIGNED)
    )
    size = np.sqrt(np.mean(exact**2))
    errors = (aligned - exact) / size
    rms, largest = np.sqrt(np.mean(errors**2)), np.abs(errors).max()
    name = request.node.callspec.id
    print(f"\n{name}: error against exact, relative to the results' RMS: RMS {rms:.2e}, largest {largest:.2e}")
    # A step loses less than six units of 2**-16 of its largest term, and there are as many steps as rows.
    steps = -(-a.shape[1] // ALIGNED.terms)
    peak = np.abs(exact).max() + 4 * np.abs(a).max() * np.abs(b).max()
    assert 0 < largest * size < 6 * steps * peak * 2.0**-ALIGNED.align_fraction_bits
