"""FP32 arithmetic and casts by definition and in both tiers; numbers of any type as arguments."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.golden.formats.catalogue import BF16, E2M1, E3M4, E4M3, E4M3FN, E5M2, FP16, FP32, TF32, Rounding
from bitpath.golden.scalar import fp32 as exact
from bitpath.golden.scalar.codec import Kind, Overflow, decode
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.vector.engine import single
from bitpath.verif.common.boundary_codes import crossing

# Numbers as arguments of ScalarE's and VectorE's instructions: of any type they mean their value, rounded once.


SIGNED, UNSIGNED = (np.int8, np.int16, np.int32, np.int64), (np.uint8, np.uint16, np.uint32, np.uint64)
NUMBERS = (
    *(dtype(value) for dtype in SIGNED for value in (5, np.iinfo(dtype).min, np.iinfo(dtype).max)),
    *(dtype(value) for dtype in UNSIGNED for value in (5, np.iinfo(dtype).max)),
    *(np.float16(-0.3), np.float32(0.1), np.float64(0.1), np.longdouble("0.1")),
)
TIE = (1 << 100) + (1 << 76)
"""Half-way between two float32; float64 does not hold its neighbours."""
LIMIT = (1 << 128) - (1 << 103)
"""The least integer that rounds to infinity."""


def value(number):
    return Fraction(*number.as_integer_ratio()) if isinstance(number, np.floating) else Fraction(int(number))


def code(number):
    return int(single("x", number).view(np.uint32))


def scalar_uses(number):
    """Return float32 results of the functions that take this number as a scale, a bias or another scalar argument."""
    tile = np.linspace(-3, 3, 8, dtype=np.float32).reshape(2, 4)
    # Above every magnitude here, and of their order, so that rand2's results show the number.
    limit = 2.0 * float(np.max(np.abs(np.asarray(number, np.float64)))) + 1
    source = np.random.default_rng(9).integers(0, 1 << 32, (2, 4, 6), dtype=np.uint32)
    return [
        trainium3.activation(tile, "copy", scale=number),
        trainium3.activation(tile, "copy", bias=number),
        trainium3.activation_reduce(tile, "copy", scale=number, bias=number)[1],
        trainium3.tensor_scalar(tile, "subtract", number, "multiply", number),
        trainium3.tensor_scalar(tile, "subtract", number, reverse0=True),
        trainium3.tensor_scalar_reduce(tile, "multiply", number, reduce_op="add")[1],
        trainium3.scalar_tensor_tensor(tile, "multiply", number, "add", tile),
        trainium3.exponential(tile, number)[0],
        trainium3.exponential(tile, 0.0, reduce_cmd="load_reduce", reduce_init=number)[1],
        trainium3.rand2(trainium3.Xorwow(source), 5, number, limit),
        trainium3.rand2(trainium3.Xorwow(source), 5, -limit, number),
    ]


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_numbers_of_numpy_mean_their_value(number):
    """A number gives the same results as an array [P, 1] of its value, rounded by the scalar tier."""
    column = np.full((2, 1), round_to_format(value(number), FP32), np.uint32).view(np.float32)
    for got, expected in zip(scalar_uses(number), scalar_uses(column), strict=True):
        assert got.view(np.uint32).tolist() == expected.view(np.uint32).tolist()


@pytest.mark.parametrize(
    "magnitude", [0, (1 << 24) + 1, (1 << 53) + 1, TIE, TIE + (3 << 46), TIE + (1 << 77), LIMIT, 1 << 1023]
)
def test_integers_are_rounded_once(magnitude):
    for number in (magnitude - 1, magnitude, magnitude + 1):
        for signed in (number, -number):
            assert code(signed) == round_to_format(Fraction(signed), FP32)


def test_long_doubles_are_rounded_once():
    """float64 rounds the first to a tie of FP32, the second to one of its subnormals, the third to 0."""
    one = np.longdouble(1)
    near_ties = (1 + np.ldexp(one, -24) + np.ldexp(one, -60), np.ldexp(one, -150) * (1 + np.ldexp(one, -60)))
    for number in (*near_ties, *(-each for each in near_ties), np.ldexp(one, -1080), -np.ldexp(one, -1080)):
        exact = value(number)
        assert exact != float(number) or np.finfo(np.longdouble).nmant == 52  # where it is no more than float64
        assert code(number) == round_to_format(exact, FP32)


def test_numbers_without_a_value():
    assert [code(zero) for zero in (0, 0.0, -0.0, np.float16(-0.0))] == [0, 0, 1 << 31, 1 << 31]
    for kind in (float, np.float16, np.longdouble):
        assert [code(kind(each)) for each in (np.inf, -np.inf)] == [0x7F800000, 0xFF800000]
        assert np.isnan(single("x", kind(np.nan)))
    assert code(1e300) == code(10**300) == 0x7F800000


# FP32 arithmetic: the scalar tier against its definition in integers, the arrays against the scalar tier.


NAN, INF, ONE = 0x7FC00000, 0x7F800000, 0x3F800000
MAGNITUDES = (
    0, 1, 2, 3, 0x200000, 0x200001, 0x3FFFFF, 0x400000, 0x7FFFFF, 0x800000, 0x800001, 0x00FFFFFF, 0x1F800000, 0x20000000,
    0x33800000, 0x34000000, 0x3F000000, 0x3F7FFFFF, ONE, 0x3F800001, 0x40000000, 0x40400000, 0x42280000, 0x5F000000,
    0x7E800000, 0x7E800001, 0x7F000000, 0x7F000001, 0x7F7FFFFE, 0x7F7FFFFF, INF, INF + 1, NAN, 0x7FFFFFFF,
)  # fmt: skip
CORNERS = (*MAGNITUDES, *(each | 1 << 31 for each in MAGNITUDES))
BINARY = {name: getattr(exact, name) for name in ("add", "multiply", "divide", "maximum", "minimum")}
BINARY["subtract"] = lambda x, y: exact.add(x, y ^ 1 << 31)
UNARY = ("reciprocal", "square_root", "reciprocal_square_root", "absolute")


def floats(codes):
    return np.array(codes, np.uint32).view(np.float32)


@pytest.mark.parametrize("name", UNARY)
def test_unary_tiers_agree(name):
    codes = [*CORNERS, *np.random.default_rng(4).integers(0, 1 << 32, 3000).tolist()]
    got = getattr(fp32, name)(floats(codes)).view(np.uint32)
    assert got.tolist() == [getattr(exact, name)(code) for code in codes]


@pytest.mark.parametrize("name", BINARY)
def test_binary_tiers_agree(name):
    """Corners with each other and with random codes, random codes, and sums that cancel."""
    rng = np.random.default_rng(1)
    positive, anything = rng.integers(0, INF, 3000), rng.integers(0, 1 << 32, (2, 1000))
    opposite = (positive + rng.integers(-3, 4, positive.size) & 0x7FFFFFFF) | 1 << 31
    corners = np.reshape(np.meshgrid(CORNERS, [*CORNERS, *anything[0, :30]]), (2, -1))
    x, y = np.hstack([corners, anything, [positive, opposite]])
    got = getattr(fp32, name)(floats(x), floats(y)).view(np.uint32)
    assert got.tolist() == [BINARY[name](a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]


def test_exact_roots():
    """Even powers of two, and 9."""
    for k in range(-63, 64):
        square, root, inverse_root = (round_to_format(Fraction(2) ** each, FP32) for each in (2 * k, k, -k))
        assert exact.square_root(square) == root
        assert exact.reciprocal_square_root(square) == inverse_root
    assert exact.square_root(0x41100000) == 0x40400000


def test_specials_by_hand():
    minus = 1 << 31
    assert [exact.reciprocal(code) for code in (0, minus, INF, INF | minus, NAN | minus)] == [
        INF, INF | minus, 0, minus, NAN,
    ]  # fmt: skip
    assert [exact.reciprocal(code) for code in (1, 0x1FFFFF, 0x200000, 0x200001)] == [INF, INF, INF, 0x7F7FFFF8]
    assert exact.reciprocal(0x7F000000) == 0x00400000  # 1 / 2**127 is subnormal
    assert [exact.square_root(code) for code in (0, minus, INF, INF | minus, 0xBF800000, NAN)] == [
        0, minus, INF, NAN, NAN, NAN,
    ]  # fmt: skip
    assert [exact.reciprocal_square_root(code) for code in (0, minus, INF, INF | minus, 0xBF800000)] == [
        INF, INF | minus, 0, NAN, NAN,
    ]  # fmt: skip
    assert exact.reciprocal_square_root(1) == 0x64B504F3  # 2**74.5
    assert (exact.maximum(0, minus), exact.maximum(minus, 0), exact.maximum(minus, minus)) == (0, 0, minus)
    assert (exact.minimum(0, minus), exact.minimum(minus, 0), exact.minimum(0, 0)) == (minus, minus, 0)
    assert (exact.maximum(NAN, ONE), exact.minimum(ONE, INF + 1)) == (NAN, NAN)
    assert (exact.add(INF, INF | minus), exact.add(ONE, ONE | minus), exact.add(minus, minus)) == (NAN, 0, minus)
    quotients = (0, minus), (INF, INF), (minus, ONE), (ONE, minus), (INF, minus), (ONE, NAN)
    assert [exact.divide(*each) for each in quotients] == [NAN, NAN, minus, INF | minus, INF | minus, NAN]
    assert exact.divide(0x40400000, INF | minus) == minus
    assert exact.divide(ONE, 0x40400000) == 0x3EAAAAAB
    assert (exact.multiply(0, INF), exact.multiply(minus, ONE), exact.multiply(1, 0x3F000000)) == (NAN, minus, 0)


def test_largest_magnitude_keeps_its_sign_and_of_equals_the_second():
    x, y = (
        floats([0xC0000000, ONE, ONE, 0xBF800000, NAN, ONE]),
        floats([ONE, 0xC0000000, 0xBF800000, ONE, ONE, INF + 1]),
    )
    assert fp32.absolute_maximum(x, y).view(np.uint32).tolist() == [0xC0000000, 0xC0000000, 0xBF800000, ONE, NAN, NAN]


FORMATS = (FP32, BF16, FP16, E4M3, E4M3FN, E5M2, E3M4)


@pytest.mark.parametrize("fmt", FORMATS, ids=lambda fmt: fmt.name)
def test_casts(fmt):
    """Reading all codes (of 16 bits and fewer) and writing all kinds of numbers."""
    dtype = DTYPES[fmt]
    codes = np.arange(1 << fmt.width, dtype=np.uint64) if fmt is not FP32 else np.array(CORNERS)
    array = codes.astype(f"u{dtype.itemsize}").view(dtype)
    sample = slice(None, None, max(1, codes.size // 2000))
    got = fp32.read(array).view(np.uint32)
    assert got[sample].tolist() == [exact.convert(code, fmt, FP32) for code in codes[sample].tolist()]
    rng = np.random.default_rng(2)
    half = 1 << max(22 - fmt.fraction_bits, 0)
    near = rng.choice(got, 1500) + rng.integers(-1, 2, 1500) * half  # numbers of the format, and ties between two
    values = np.concatenate([near, CORNERS, crossing(FP32, fmt), rng.integers(0, 1 << 32, 500)]).astype(np.uint32)
    written = codes_of(fp32.write(values.view(np.float32), dtype))
    assert written.tolist() == [exact.convert(code, FP32, fmt) for code in values.tolist()]


def test_conversions_by_hand():
    assert exact.convert(0x358637BD, FP32, BF16) == 0x3586  # 1e-6
    assert exact.convert(0x43780000, FP32, E4M3) == 0x78  # 248 overflows, a tie with what would be 256
    assert exact.convert(0x4377FFFF, FP32, E4M3) == 0x77
    assert exact.convert(0xFF800000, FP32, E4M3) == 0xF8
    assert exact.convert(0xFF800000, FP32, E4M3FN) == 0x7F
    assert exact.convert(0xFF800000, FP32, E4M3FN, overflow=Overflow.SATURATE) == 0xFE
    assert exact.convert(0x3F801000, FP32, TF32) == 0x1FC00  # a tie, to even
    assert exact.convert(0x3F803000, FP32, TF32) == 0x1FC02
    assert exact.convert(0x3F803FFF, FP32, TF32, Rounding.RTZ) == 0x1FC01
    with pytest.raises(ValueError, match="code is a NaN, which E2M1 cannot express"):
        exact.convert(NAN, FP32, E2M1)


def integers_of(values):
    """Non-negative float32 codes as integers and exponents of two; infinity as the number that follows the largest one."""
    biased, fraction = values >> 23, values & (1 << 23) - 1
    return np.where(biased > 0, fraction | 1 << 23, fraction), np.maximum(biased, 1) - 150


def midpoints(results):
    """Return the midpoints between positive codes and their neighbours, below and above, as integers and exponents."""
    whole, exponent = integers_of(results)
    finer = (whole == 1 << 23) & (exponent > -149)  # the binade below is twice as fine
    return (np.where(finer, 4 * whole - 1, 2 * whole - 1), exponent - 1 - finer), (2 * whole + 1, exponent - 1)


def below_reciprocal(x, x_exponent, m, m_exponent):
    """Return True if m < 1/x: x * m is compared with a power of two. A midpoint m > 1 is odd, so they differ."""
    assert np.all(m > 1)
    return x * m < np.int64(1) << -(x_exponent + m_exponent)


def below_square_root(x, x_exponent, m, m_exponent):
    """Return True if m < sqrt(x): compares m * m (up to 52 bits) with x. They differ: m is odd, below the last place of x."""
    shift = x_exponent - 2 * m_exponent
    assert np.all(shift > 0)
    return m * m < x << shift


def below_reciprocal_square_root(x, x_exponent, m, m_exponent):
    """Return True if m < 1/sqrt(x): compares x * m * m (up to 77 bits, in two words) with a power of two."""
    square = m * m
    low = x * (square & (1 << 26) - 1)
    high = x * (square >> 26) + (low >> 26)
    return high < np.int64(1) << -(x_exponent + 2 * m_exponent) - 26


IS_BELOW = {
    "reciprocal": below_reciprocal,
    "square_root": below_square_root,
    "reciprocal_square_root": below_reciprocal_square_root,
}


def all_nearest(name, codes, results):
    """Check results of positive codes against the midpoints at both sides, in integers."""
    below, above = midpoints(results.astype(np.int64))
    x, is_below, finite = integers_of(codes), IS_BELOW[name], results < INF
    return np.all(is_below(*x, *below)) and not np.any(is_below(*x, *above) & finite)


@pytest.mark.parametrize("name", IS_BELOW)
def test_the_scalar_tier_by_definition(name):
    """1/x, sqrt(x) and 1/sqrt(x) round to r where they lie between r's midpoints with its neighbours; none is a midpoint."""
    runs = [np.arange(start, start + 100) for start in (1, 0x7FFFF0, 0x3F800001, 0x40000001, 0x7F7FF000)]
    spread = [np.arange(0x3F800001, 0x40000000, 99_991), np.arange(0x7E800000, INF, 999_983)]
    codes = np.concatenate([np.arange(0x800000, 0x800040), *runs, *spread])
    codes = codes if name != "reciprocal" else codes[codes > 0x200000]  # else the result is infinite
    assert all_nearest(name, codes, np.array([getattr(exact, name)(code) for code in codes.tolist()]))


@pytest.mark.parametrize(
    ("name", "binade"),
    [
        *(("reciprocal", 0), ("reciprocal", 127), ("reciprocal", 253), ("reciprocal", 254)),
        *((name, binade) for name in ("square_root", "reciprocal_square_root") for binade in (0, 127, 128)),
    ],
)
def test_every_significand(name, binade):
    """All 2**23 significands of representative binades: one normal (an even and an odd exponent for roots), subnormals, subnormal results."""
    chunk = 1 << 18
    for start in range(binade << 23, binade + 1 << 23, chunk):
        codes = np.arange(max(start, 1), start + chunk)
        assert all_nearest(name, codes, getattr(fp32, name)(floats(codes)).view(np.uint32))


def test_no_result_but_nan_is_nan():
    """Every NaN that comes out is the one, also through casts."""
    nans = floats([INF + 1, 0xFF800001, 0xFFFFFFFF, NAN])
    for fmt in FORMATS:
        assert set(codes_of(fp32.write(nans, DTYPES[fmt])).tolist()) == {fmt.nan_code}
    assert decode(FP32, exact.absolute(0xFFFFFFFF)).kind is Kind.NAN
    assert fp32.read(np.array([0xFFC1], np.uint16).view(ml_dtypes.bfloat16)).view(np.uint32)[0] == NAN
    assert Fraction(float(fp32.read(np.array([0x0001], np.uint16).view(ml_dtypes.bfloat16))[0])) == Fraction(2) ** -133
