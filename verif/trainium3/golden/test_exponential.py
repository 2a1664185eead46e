"""The exponential: its tables, both tiers, its accuracy against e**t in integers, monotony, and the running sum."""

from dataclasses import replace
from fractions import Fraction
from math import floor

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.arrays.codec import codes_of
from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.scalar import fp32
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.rounding import ulp
from bitpath.golden.trainium3 import exponential
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_EXPONENTIAL
from bitpath.golden.trainium3.exact import exponential as scalar_exponential
from bitpath.golden.trainium3.exact.functions import LN2, SERIES_TERMS, ln2, log2e, power_table

NUMERICS = TRAINIUM3_EXPONENTIAL.numerics
SMALLER = replace(NUMERICS, fraction_bits=24, table_bits=9, log2e_bits=30, power_bits=40)
INF, NAN = 0x7F800000, 0x7FC00000
CORNERS = (0, 1 << 31, 1, 0x80000001, INF, INF | 1 << 31, NAN, 0xFFC00001, 0x7F7FFFFF, 0xFF7FFFFF)
GRID = 160


def true_exponential(t):
    """e**t to 2**-100 of itself: e**r of t = k ln 2 + r, as a series of integers."""
    k = floor(t / LN2)
    term = total = 1 << GRID
    r = floor((t - k * LN2) * (1 << GRID))
    n = 1
    while term:
        term = (term * r >> GRID) // n
        total += term
        n += 1
    return Fraction(total, 1 << GRID) * Fraction(2) ** k


def one(code, max_code=0, **options):
    x, most = (np.array([[each]], np.uint32).view(np.float32) for each in (code, max_code))
    return int(exponential(x, most, **options)[0].view(np.uint32)[0, 0])


def test_constants_are_to_nearest():
    low, high = LN2, LN2 + Fraction(2, 1 << SERIES_TERMS)
    for numerics in (NUMERICS, SMALLER):
        assert (
            round(low * (1 << numerics.fraction_bits)) == round(high * (1 << numerics.fraction_bits)) == ln2(numerics)
        )
        assert round((1 << numerics.log2e_bits) / low) == round((1 << numerics.log2e_bits) / high) == log2e(numerics)
        table, entries = power_table(numerics), 1 << numerics.table_bits
        assert (table[0], len(table)) == (1 << numerics.fraction_bits, entries)
        for i, entry in enumerate(table):
            power = 1 << i + (numerics.fraction_bits + 1) * entries  # (2 * entry's exact value) ** entries
            assert (2 * entry - 1) ** entries < power < (2 * entry + 1) ** entries
    assert abs(ln2(NUMERICS) / 2**32 - np.log(2)) < 2**-32


@pytest.mark.parametrize("numerics", [NUMERICS, SMALLER], ids=["preset", "smaller"])
def test_tiers_agree(numerics):
    """Corners, codes of any kind, the range and small numbers in each row; maxima of 0, corners and numbers."""
    rng = np.random.default_rng(11)
    small = rng.standard_normal((40, 20)) * 2.0 ** rng.integers(-40, 2, (40, 20))
    usual = np.hstack([rng.uniform(-105, 90, (40, 50)), small]).astype(np.float32).view(np.uint32)
    x = np.hstack([np.tile(CORNERS, (40, 1)), rng.integers(0, 1 << 32, (40, 10)), usual]).astype(np.uint32)
    most = np.concatenate([np.zeros(20), CORNERS, usual[:10, 0]]).astype(np.uint32)[:, np.newaxis]
    got = exponential(x.view(np.float32), most.view(np.float32), numerics=numerics)[0].view(np.uint32)
    expected = [
        [scalar_exponential(numerics, code, int(largest)) for code in row]
        for row, largest in zip(x.tolist(), most[:, 0], strict=True)
    ]
    assert got.tolist() == expected


def test_within_six_tenths_of_a_unit():
    rng = np.random.default_rng(12)
    t = np.concatenate([rng.uniform(-103.9, 88.7, 3000), rng.uniform(-1, 1, 1000), np.arange(-256, 256) / 256])
    got = exponential(t.astype(np.float32)[np.newaxis], 0.0)[0].view(np.uint32)[0]
    worst = Fraction(0)
    for argument, code in zip(t.astype(np.float32).tolist(), got.tolist(), strict=True):
        exact = true_exponential(Fraction(argument))
        worst = max(worst, abs(decode(FP32, code).value - exact) / ulp(FP32, exact))
    assert Fraction(1, 2) < worst < Fraction(6, 10)


@pytest.mark.parametrize(
    "start",
    [-0x3F800000, 0x3F800000, 0x3B000000, 0x33000000, 0x42B00000, -0x42CFFFFF, -0x42B20000, 0x3F317000, -0x40000000],
)
def test_monotone(start):
    """Neighbouring arguments, over ends of table entries, of binades and of the range; negative starts are negative numbers."""
    codes = np.arange(abs(start), abs(start) + (1 << 15)) | (start < 0) << 31
    values = exponential(codes.astype(np.uint32).view(np.float32)[np.newaxis], 0.0)[0][0]
    steps = np.diff(values[np.isfinite(values)])
    assert np.all(steps <= 0 if start < 0 else steps >= 0)


def test_values_by_hand():
    assert [one(code) for code in (0, 1 << 31, 1, INF, INF | 1 << 31, NAN)] == [0x3F800000] * 3 + [INF, 0, NAN]
    assert one(0x3F800000) == 0x402DF854  # e
    assert one(0xC2AEAC50) == 0x007FFFE6  # a subnormal result is not flushed
    assert one(0x42B17218) == INF  # 88.72284, the first that overflows
    assert one(0x42B17217) == 0x7F7FFF84
    assert one(0xC2CFF1B4) == 1
    assert one(0xC2CFF1B5) == 0
    assert (one(INF, INF), one(INF | 1 << 31, INF | 1 << 31), one(NAN, 0)) == (NAN, NAN, NAN)


def softmax_tile(seed, fmt=BF16):
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal((6, 33)) * 4).astype(ml_dtypes.bfloat16 if fmt is BF16 else np.float16)
    return x, x.astype(np.float32).max(axis=1, keepdims=True)


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("command", ["reset_reduce", "reduce", "load_reduce"])
def test_running_sum(command, before):
    """The sum is serial, of powers before or after the cast to BF16, from the start value of the command."""
    x, most = softmax_tile(13)
    start = np.linspace(0.5, 3, 6, dtype=np.float32)
    given = {"reduce": {"accumulators": start}, "load_reduce": {"reduce_init": start[:, np.newaxis]}}.get(command, {})
    numerics = replace(NUMERICS, sum_before_cast=before)
    got, sums = exponential(x, most, dtype=ml_dtypes.bfloat16, reduce_cmd=command, numerics=numerics, **given)
    assert (sums.dtype, sums.shape) == (np.float32, (6,))
    for p in range(6):
        total = 0 if command == "reset_reduce" else int(start.view(np.uint32)[p])
        for f in range(33):
            source = fp32.convert(int(codes_of(x)[p, f]), BF16, FP32)
            power = scalar_exponential(NUMERICS, source, int(most.view(np.uint32)[p, 0]))
            stored = fp32.convert(power, FP32, BF16)
            assert codes_of(got)[p, f] == stored
            total = fp32.add(total, power if before else fp32.convert(stored, BF16, FP32))
        assert sums.view(np.uint32)[p] == total


def test_sum_over_two_tiles_is_the_sum_over_one():
    x, most = softmax_tile(14, FP16)
    whole, total = exponential(x, most, reduce_cmd="reset_reduce")
    left, sums = exponential(x[:, :20], most, reduce_cmd="reset_reduce")
    right, sums = exponential(x[:, 20:], most, reduce_cmd="reduce", accumulators=sums)
    assert np.array_equal(np.hstack([left, right]), whole)
    assert np.array_equal(sums, total)
    assert exponential(x, most)[1] is None
    number = exponential(x, most, reduce_cmd="load_reduce", reduce_init=0.0)[1]
    assert np.array_equal(number, total)


X = np.zeros((4, 3), np.float32)
BAD = [
    ((X[0], 0.0), {}, ValueError, r"src must have shape \[P, F\] with P from 1 to 128 and F of"),
    ((X.astype(np.float64), 0.0), {}, TypeError, "src must be float32, bfloat16, float16, float8_e4m3,"),
    ((X, None), {}, TypeError, r"max_value must be a number, or an array \[P, 1\], not None"),
    ((X, X), {}, ValueError, r"max_value must have shape \(4, 1\) or a number, not \(4, 3\)"),
    ((X, 0.0), {"dtype": int}, TypeError, "dtype must be float32, bfloat16, float16, float8_e4m3,"),
    ((X, 0.0), {"reduce_cmd": "add"}, ValueError, "reduce_cmd must be 'idle', 'reset_reduce', 'reduce' or 'load_reduce',"),
    ((X, 0.0), {"reduce_cmd": "reduce"}, ValueError, "accumulators must be given with reduce_cmd 'reduce', not None"),
    ((X, 0.0), {"reduce_cmd": "load_reduce"}, ValueError, "reduce_init must be given with reduce_cmd 'load_reduce', not None"),
    ((X, 0.0), {"accumulators": X[:, 0]}, ValueError, "accumulators must be None with reduce_cmd 'idle', not a ndarray"),
    ((X, 0.0), {"reduce_cmd": "reset_reduce", "reduce_init": 1.0}, ValueError, "reduce_init must be None with reduce_cmd 'reset_reduce', not 1.0"),
    ((X, 0.0), {"reduce_cmd": "reduce", "accumulators": X}, ValueError, r"accumulators must have shape \(4,\) or \(4, 1\), not \(4, 3\)"),
    ((X, 0.0), {"reduce_cmd": "reduce", "accumulators": X[:, 0].astype(int)}, TypeError, "accumulators must be float32, not int64"),
    ((X, 0.0), {"numerics": 1}, TypeError, r"numerics must be an ExponentialNumerics \(preset.numerics\), not 1"),
    ((X, 0.0), {"numerics": replace(NUMERICS, fraction_bits=33)}, ValueError, "numerics must have result FP32, table_bits from 8, fraction_bits up"),
    ((X, 0.0), {"numerics": replace(NUMERICS, result=BF16)}, ValueError, "numerics must have result FP32, table_bits from 8,"),
]  # fmt: skip


@pytest.mark.parametrize(("operands", "options", "error", "sentence"), BAD)
def test_arguments(operands, options, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        exponential(*operands, **options)
