"""nc_matmul: the array without scales, against the scalar multiply-add and against exact sums."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.arrays.codec import DTYPES, codes_of, decode_array, encode_array
from bitpath.golden.formats.catalogue import BF16, E3M4, E4M3, E4M3FN, E5M2, FP16, FP32, TF32, Rounding
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.fp32 import add, convert, multiply
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3 import Xorwow, nc_matmul, psum_random_bits
from bitpath.golden.trainium3.declarations.vector import TRAINIUM2_BF16_PRODUCTS, TRAINIUM3_MATMUL, ProductRounding
from bitpath.golden.trainium3.exact import multiply_add
from bitpath.golden.trainium3.exact.dot import psum_write

EXACT = TRAINIUM3_MATMUL.numerics
BF16_PRODUCTS = TRAINIUM2_BF16_PRODUCTS.numerics
S1E8M15 = replace(FP32, name="S1E8M15", fraction_bits=15, nan_code=0x7FC000)


def products(fmt, rounding=Rounding.RNE):
    return ProductRounding(format=fmt, rounding=rounding)


NUMERICS = {
    "exact": EXACT,
    "product": replace(EXACT, product_rounding=products(FP32)),
    "product_rtz": replace(EXACT, product_rounding=products(FP32, Rounding.RTZ), accumulator_rounding=Rounding.RTZ),
    "rtz": replace(EXACT, accumulator_rounding=Rounding.RTZ, tf32_rounding=Rounding.RTZ),
    "m15": replace(EXACT, accumulator=S1E8M15, product_rounding=products(S1E8M15)),
    "bf16_products": BF16_PRODUCTS,
    "bf16_products_rtz": replace(
        BF16_PRODUCTS, product_rounding=products(BF16, Rounding.RTZ), accumulator_rounding=Rounding.RTZ
    ),
}
PAIRS = [
    pair
    for formats in (EXACT.narrow_formats, EXACT.wide_formats)
    for pair in product(formats, repeat=2)
    if set(pair) != {E4M3, E4M3FN}
]


def element_codes(rng, fmt, shape, kind):
    """Codes of a format, all kinds; or finite ones of exponents near 1."""
    if kind == "any":
        draw = rng.random(shape)
        corners = [0, 1, fmt.fraction_mask, fmt.fraction_mask + 1, fmt.max_code, fmt.max_code + 1, fmt.nan_code]
        special = rng.choice(corners, shape) | rng.choice([0, fmt.sign_mask], shape)
        return np.where(draw < 0.3, special, rng.integers(0, 1 << fmt.width, shape))
    exponent = np.clip(rng.integers(-4, 5, shape) + fmt.bias, 0, fmt.exponent_mask - 1)
    fraction = rng.integers(0, fmt.fraction_mask + 1, shape)
    return exponent << fmt.fraction_bits | fraction | rng.choice([0, fmt.sign_mask], shape)


def matrix(fmt, codes):
    """The array that carries codes, and nc_matmul's word for TF32, whose codes are FP32's upper 19 bits."""
    if fmt is TF32:
        return (codes << FP32.fraction_bits - TF32.fraction_bits).astype(np.uint32).view(np.float32)
    return codes.astype(f"u{fmt.width // 8}").view(DTYPES[fmt])


def run(x, x_format, y, y_format, **options):
    tf32 = {"stationary_tf32": x_format is TF32, "moving_tf32": y_format is TF32}
    return nc_matmul(matrix(x_format, x), matrix(y_format, y), **tf32, **options)


def chained(numerics, x, x_format, y, y_format):
    """FP32 codes [M][N] of the scalar tier."""
    result = np.zeros((x.shape[1], y.shape[1]), np.int64)
    for m, n in np.ndindex(result.shape):
        for k in range(len(x)):
            result[m, n] = multiply_add(numerics, int(x[k, m]), x_format, int(y[k, n]), y_format, int(result[m, n]))
    return result


@pytest.mark.parametrize("kind", ["near", "any"])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0].name}x{pair[1].name}")
def test_tiers_agree(pair, kind):
    rng = np.random.default_rng([PAIRS.index(pair), len(kind)])
    for index, numerics in enumerate(NUMERICS.values()):
        shape = (5, 4, 3) if index == 0 else (3, 2, 3)
        if E4M3FN in pair and numerics.narrow_formats != EXACT.narrow_formats:
            continue  # Trainium2 does not take it
        x, y = (element_codes(rng, fmt, (shape[0], free), kind) for fmt, free in zip(pair, shape[1:], strict=True))
        got = run(x, pair[0], y, pair[1], numerics=numerics).view(np.uint32)
        assert got.tolist() == chained(numerics, x, pair[0], y, pair[1]).tolist()


SPECIALS = (0, 1 << 31, 1, 0x007FFFFF, 0x00800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000)
codes32 = st.one_of(st.sampled_from(SPECIALS), st.integers(0, (1 << 32) - 1))


def bf16_product(x, y):
    """The product of two FP32 codes, rounded once to BF16, as an FP32 code."""
    a, b = decode(FP32, x), decode(FP32, y)
    if a.kind is not Kind.FINITE or b.kind is not Kind.FINITE:
        return multiply(x, y)
    return round_to_format(a.value * b.value, BF16, zero_sign=a.sign ^ b.sign) << 16


@settings(max_examples=120, deadline=None)
@given(codes32, codes32, codes32)
def test_one_step_onto_anything(x, y, partial):
    """Arrays take the partial sum as FP32 times 1, the first of two rows; the scalar step is checked by its definition.

    It is one rounding of the exact sum; with a rounded product, a multiplication in its format and an addition of FP32.
    """
    for numerics in NUMERICS.values():
        start = partial & -(1 << 23 - numerics.accumulator.fraction_bits)
        sides = np.array([[start], [x]]), FP32, np.array([[0x3F800000], [y]]), FP32
        assert run(*sides, numerics=numerics).view(np.uint32) == chained(numerics, *sides)
    separate = multiply_add(NUMERICS["product"], x, FP32, y, FP32, partial)
    assert separate == add(multiply(x, y), partial)
    halved = multiply_add(BF16_PRODUCTS, x, FP32, y, FP32, partial)
    assert halved == add(bf16_product(x, y), partial)
    fused = multiply_add(EXACT, x, FP32, y, FP32, partial)
    operands = [decode(FP32, code) for code in (x, y, partial)]
    if all(each.kind.value == "finite" for each in operands):
        total = operands[0].value * operands[1].value + operands[2].value
        sign = (operands[0].sign ^ operands[1].sign) & operands[2].sign
        assert fused == round_to_format(total, FP32, zero_sign=sign)
    else:
        assert fused == separate or decode(FP32, fused).kind.value == "infinity"


def test_fused_and_separate_rounding_differ():
    """(1 + 2**-12)**2 - (1 + 2**-11) leaves 2**-24, which a product of 24 bits has lost: a tie that went to even."""
    x = np.array([[1.0], [1 + 2.0**-12]], np.float32)
    y = np.array([[-1 - 2.0**-11], [1 + 2.0**-12]], np.float32)
    assert nc_matmul(x, y)[0, 0] == 2.0**-24
    assert nc_matmul(x, y, numerics=NUMERICS["product"])[0, 0] == 0


def test_bf16_products_of_trainium2():
    """1.0078125**2 is 1.015625 + 2**-14; in BF16 the last term is lost before the subtraction."""
    x = np.array([[1.0078125], [-1.0]], ml_dtypes.bfloat16)
    y = np.array([[1.0078125], [1.015625]], ml_dtypes.bfloat16)
    assert nc_matmul(x, y)[0, 0] == 2.0**-14
    assert nc_matmul(x, y, numerics=BF16_PRODUCTS)[0, 0] == 0
    codes = [(0x3F81, 0x3F81), (0xBF80, 0x3F82)]
    for numerics, expected in ((EXACT, 0x38800000), (BF16_PRODUCTS, 0)):
        partial = 0
        for a, b in codes:
            partial = multiply_add(numerics, a, BF16, b, BF16, partial)
        assert partial == expected


@pytest.mark.parametrize("rounding", [Rounding.RNE, Rounding.RTZ], ids=lambda each: each.name)
def test_every_bf16_product_of_two_binades(rounding):
    """All pairs of fractions times signs, and exponents that leave BF16's range or reach its subnormals."""
    numerics = replace(BF16_PRODUCTS, product_rounding=products(BF16, rounding))
    fractions = np.arange(128, dtype=np.uint16)
    for x_exponent, y_exponent in (
        (127, 127),
        (254, 127),
        (254, 128),
        (1, 127),
        (60, 66),
        (60, 60),
        (0, 127),
        (0, 130),
    ):
        x, y = x_exponent << 7 | fractions, y_exponent << 7 | fractions | 0x8000
        got = nc_matmul(matrix(BF16, x[None]), matrix(BF16, y[None]), numerics=numerics).view(np.uint32)
        values = [decode_array(BF16, codes) for codes in (x, y)]
        exact = np.multiply.outer(*values)  # 16 bits
        expected = encode_array(BF16, exact, rounding=rounding).astype(np.uint32) << 16
        # A product that rounds to -0 becomes +0 with the partial sum.
        assert np.array_equal(got, np.where(expected == 1 << 31, 0, expected))


def test_deep_sums_are_near_the_exact_ones():
    rng = np.random.default_rng(6)
    x, y = (rng.standard_normal((128, free)).astype(ml_dtypes.bfloat16) for free in (16, 24))
    exact = x.astype(np.float64).T @ y.astype(np.float64)  # 53 bits: good to 2**-40
    magnitude = np.abs(x.astype(np.float64)).T @ np.abs(y.astype(np.float64))
    assert np.all(np.abs(nc_matmul(x, y) - exact) <= 5e-7 * magnitude)


def test_rows_are_added_in_order():
    """1 and many halves of its unit: one by one they are lost, the other way round they are not."""
    x = np.array([[1.0], *[[2.0**-24]] * 8], np.float32)
    ones = np.ones((9, 1), np.float32)
    assert nc_matmul(x, ones)[0, 0] == 1
    assert nc_matmul(x[::-1], ones)[0, 0] == 1 + 2.0**-21


def test_gamma_broadcast():
    """Depth 1 by ones: every code of the format comes back, but for -0 and the other NaNs."""
    for fmt in (BF16, FP16):
        codes = np.arange(1 << 16).reshape(-1, 512)
        for row in codes[:: 1 if fmt is BF16 else 4]:
            gamma = matrix(fmt, row[np.newaxis])
            got = nc_matmul(np.ones((1, 2), ml_dtypes.bfloat16), gamma)
            expected = encode_array(FP32, decode_array(fmt, row) + 0.0)
            assert np.array_equal(got.view(np.uint32), np.stack([expected, expected]))


def test_tf32_is_rounded_on_its_way_in():
    x = np.array([[1 + 2.0**-11, 1 + 3 * 2.0**-11, 1 + 2.0**-23]], np.float32)
    one = np.ones((1, 1), np.float32)
    assert nc_matmul(x, one, stationary_tf32=True)[:, 0].tolist() == [1, 1 + 2.0**-9, 1]
    assert nc_matmul(one, x, moving_tf32=True)[0].tolist() == [1, 1 + 2.0**-9, 1]
    truncated = nc_matmul(x, one, stationary_tf32=True, numerics=NUMERICS["rtz"])
    assert truncated[:, 0].tolist() == [1, 1 + 2.0**-10, 1]
    assert nc_matmul(x, one)[:, 0].tolist() == x[0].tolist()


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_psum_accumulates(dtype):
    """Two instructions of a group, in FP32 and in BF16, which is rounded a second time."""
    rng = np.random.default_rng(7)
    x, y = rng.standard_normal((2, 8, 4)).astype(np.float16), rng.standard_normal((2, 8, 5)).astype(np.float16)
    first = nc_matmul(x[0], y[0], dst_dtype=dtype, psum_accumulate_flag=1)
    second = nc_matmul(x[1], y[1], dst=first, psum_accumulate_flag=2)
    assert second.dtype == dtype
    fmt = FP32 if dtype is np.float32 else BF16
    results = [chained(EXACT, codes_of(a), FP16, codes_of(b), FP16) for a, b in zip(x, y, strict=True)]
    for m, n in np.ndindex(4, 5):
        present = psum_write(int(results[0][m, n]), None, fmt)
        assert codes_of(second)[m, n] == psum_write(int(results[1][m, n]), present, fmt)
    fresh = nc_matmul(x[1], y[1], dst=first)
    assert np.array_equal(codes_of(fresh), codes_of(nc_matmul(x[1], y[1], dst_dtype=dtype)))


def test_stochastic_rounding_takes_bits_of_xorwow():
    rng = np.random.default_rng(8)
    x, y = rng.standard_normal((4, 20)).astype(np.float16), rng.standard_normal((4, 6)).astype(np.float16)
    bits = psum_random_bits(Xorwow(rng.integers(0, 1 << 32, (3, 4, 6), dtype=np.uint32)), 20, 6)
    got = codes_of(nc_matmul(x, y, dst_dtype=ml_dtypes.bfloat16, rounding="sr", random_bits=bits))
    exact = nc_matmul(x, y).view(np.uint32)
    for m, n in np.ndindex(20, 6):
        assert got[m, n] == psum_write(int(exact[m, n]), None, BF16, Rounding.SR, int(bits[m, n]))
    assert len(np.unique(bits)) > 100


def test_tiles_of_the_array_do_not_change_values():
    rng = np.random.default_rng(9)
    x, y = rng.standard_normal((2, 30, 20)).astype(ml_dtypes.bfloat16)
    whole = nc_matmul(x, y)
    for size in product((32, 64, 128), repeat=2):
        for position in product(*(range(0, 128, each) for each in size)):
            assert np.array_equal(nc_matmul(x, y, tile_size=size, tile_position=position), whole)


def test_e3m4():
    x = np.array([[15.5, 2.0**-6, -0.25]], ml_dtypes.float8_e3m4)
    assert nc_matmul(x, np.array([[2.0]], ml_dtypes.float8_e5m2))[:, 0].tolist() == [31, 2.0**-5, -0.5]
    assert E3M4.max == Fraction(31, 2)
    assert convert(0x7F7FFFFF, FP32, E3M4) == 0x70


def test_a_result_may_span_banks():
    x, y = (np.random.default_rng(1).standard_normal((5, n)).astype(BF) for n in (3, 513))
    one, rest = (nc_matmul(x, y[:, part]) for part in (slice(512), slice(512, None)))
    assert nc_matmul(x, y, multi_bank=True).tobytes() == np.concatenate((one, rest), axis=1).tobytes()


def ones(dtype, *shape):
    return np.ones(shape, dtype)


BF, F32, E4, E4FN = ml_dtypes.bfloat16, np.float32, ml_dtypes.float8_e4m3, ml_dtypes.float8_e4m3fn
GOOD = (ones(BF, 2, 4), ones(BF, 2, 3))
BAD = [
    ((ones(np.float64, 2, 4), GOOD[1]), {}, TypeError, "stationary must be bfloat16, float16, float32, float8_e4m3,"),
    ((ones(BF, 2, 4, 1), GOOD[1]), {}, ValueError, r"stationary must have shape \[K, M\] with K from 1 to 128, not \(2, 4,"),
    ((GOOD[0], ones(BF, 0, 3)), {}, ValueError, r"moving must have shape \[K, N\] with K from 1 to 128, not \(0, 3\)"),
    ((ones(BF, 129, 1), ones(BF, 129, 1)), {}, ValueError, r"stationary must have shape \[K, M\] with K from 1 to 128, not \(129,"),
    ((GOOD[0], ones(BF, 3, 3)), {}, ValueError, "moving must have stationary's K = 2, not 3"),
    ((ones(BF, 2, 129), GOOD[1]), {}, ValueError, "stationary must have a free size M from 1 to 128, not 129"),
    ((GOOD[0], ones(BF, 2, 513)), {}, ValueError, "moving must have a free size N from 1 to 512 with a float32 dst, not"),
    ((GOOD[0], ones(BF, 2, 1025)), {"dst_dtype": BF}, ValueError, "moving must have a free size N from 1 to 1024 with a bfloat16 dst,"),
    ((GOOD[0], ones(BF, 2, 4097)), {"multi_bank": True}, ValueError, "moving must have a free size N from 1 to 4096 with a float32 dst,"),
    ((ones(F32, 2, 4), GOOD[1]), {}, ValueError, "TF32 and FP32 must be multiplied with each other only, but stationary"),
    (
        (ones(E4, 2, 4), ones(E4FN, 2, 3)), {}, ValueError,
        "a matmul must not mix E4M3 and E4M3FN, but stationary is float8_e4m3",
    ),
    (GOOD, {"stationary_tf32": True}, ValueError, "stationary must be float32 with stationary_tf32, not bfloat16"),
    (GOOD, {"moving_tf32": 1}, TypeError, "moving_tf32 must be True or False, not 1"),
    (GOOD, {"numerics": "exact"}, TypeError, r"numerics must be a MatmulNumerics \(preset.numerics\), not 'exact'"),
    (GOOD, {"numerics": replace(EXACT, narrow_formats=(FP16,))}, ValueError, "formats must be among FP16, TF32, FP32, but stationary is bfloat16"),
    (GOOD, {"psum_accumulate_flag": 0}, ValueError, "dst is None; an accumulating psum_accumulate_flag needs"),
    (GOOD, {"psum_accumulate_flag": 5}, ValueError, "psum_accumulate_flag must be 0, 1, 2, 3, 4 or 6, not 5"),
    (GOOD, {"dst": ones(F32, 3, 4)}, ValueError, r"dst must have shape \(4, 3\), not \(3, 4\)"),
    (GOOD, {"dst_dtype": np.float16}, TypeError, "dst_dtype must be float32 or bfloat16, not float16"),
    (GOOD, {"rounding": "sr"}, ValueError, "dst must be bfloat16 with rounding 'sr', not float32"),
    (GOOD, {"rounding": "sr", "dst_dtype": BF}, ValueError, "random_bits is None; rounding 'sr' needs uint16"),
    (GOOD, {"tile_size": (32, 128)}, ValueError, "tile_position must be given with tile_size, not None"),
    (GOOD, {"tile_size": (16, 32), "tile_position": (0, 0)}, ValueError, r"tile_size must be \(32, 32\), \(32, 64\), \(32, 128\), \(64, 32\),"),
    (GOOD, {"tile_size": (32, 32), "tile_position": (0, 16)}, ValueError, r"tile_position must be \(0, 0\), \(0, 32\), \(0, 64\), \(0, 96\),"),
    (
        (ones(BF, 2, 33), GOOD[1]), {"tile_size": (32, 32), "tile_position": (0, 0)}, ValueError,
        "stationary must span up to 32 columns in a tile of 32 columns, not 33",
    ),
    (
        (ones(BF, 33, 2), ones(BF, 33, 2)), {"tile_size": (32, 32), "tile_position": (0, 0)}, ValueError,
        "stationary must span up to 32 partitions in a tile of 32 rows, not 33",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("operands", "options", "error", "sentence"), BAD)
def test_arguments(operands, options, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        nc_matmul(*operands, **options)


def test_scalar_arguments():
    with pytest.raises(
        ValueError, match="partial_sum is 0x00000001; its lowest 8 bits are 0 on the accumulator's grid"
    ):
        multiply_add(NUMERICS["m15"], 0, FP32, 0, FP32, 1)
    with pytest.raises(ValueError, match=r"formats must be among E4M3, E5M2, .*, but x_format is E4M3FN"):
        multiply_add(BF16_PRODUCTS, 0, E4M3FN, 0, BF16, 0)
    with pytest.raises(ValueError, match="formats must be among BF16, TF32, FP32, but y_format is E5M2"):
        multiply_add(replace(EXACT, narrow_formats=(BF16,)), 0, BF16, 0, E5M2, 0)
    with pytest.raises(ValueError, match="TF32 and FP32 must be multiplied with each other only, but x_format"):
        multiply_add(EXACT, 0, FP32, 0, BF16, 0)
