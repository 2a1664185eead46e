"""Integer lanes: SRS over all 16-bit numbers, UPS, and the modes of Table 7, by both tiers."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.codes import SRS_MODES, SRS_SHIFTS, UPS_MODES, RoundingCode, Saturation
from bitpath.golden.aie_ml_v2.declarations.modes import INTEGER_MODES
from bitpath.golden.arrays.fp32 import shift_round
from bitpath.golden.scalar.rounding import shift_round as exact_shift_round

ALL16 = np.arange(-(1 << 15), 1 << 15)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


@pytest.mark.parametrize("code", RoundingCode)
@pytest.mark.parametrize("shift", [*range(7), 15, 16, 17])
def test_rounding(code, shift):
    """All combinations of sign, parity of the kept bits, and discarded bits, for short shifts."""
    values = np.unique(np.concatenate([np.arange(-200, 200), ALL16[::613], ALL16[-3:], (ALL16[::613] >> 14) << 14]))
    got = shift_round(values, shift, code.mode)
    assert got.tolist() == [exact_shift_round(value, shift, code.mode) for value in values.tolist()]


@pytest.mark.parametrize(
    ("code", "rounded"),
    [
        # -1.75, -1.5, -1.25, -0.5, 0.5, 1.25, 1.5, 1.75
        (RoundingCode.FLOOR, [-2, -2, -2, -1, 0, 1, 1, 1]),
        (RoundingCode.CEIL, [-1, -1, -1, 0, 1, 2, 2, 2]),
        (RoundingCode.SYMMETRIC_FLOOR, [-1, -1, -1, 0, 0, 1, 1, 1]),
        (RoundingCode.SYMMETRIC_CEIL, [-2, -2, -2, -1, 1, 2, 2, 2]),
        (RoundingCode.NEGATIVE_INF, [-2, -2, -1, -1, 0, 1, 1, 2]),
        (RoundingCode.POSITIVE_INF, [-2, -1, -1, 0, 1, 1, 2, 2]),
        (RoundingCode.SYMMETRIC_ZERO, [-2, -1, -1, 0, 0, 1, 1, 2]),
        (RoundingCode.SYMMETRIC_INF, [-2, -2, -1, -1, 1, 1, 2, 2]),
        (RoundingCode.CONV_EVEN, [-2, -2, -1, 0, 0, 1, 2, 2]),
        (RoundingCode.CONV_ODD, [-2, -1, -1, -1, 1, 1, 1, 2]),
    ],
)
def test_rounding_codes_by_hand(code, rounded):
    quarters = np.array([-7, -6, -5, -2, 2, 5, 6, 7])
    assert aie.srs(quarters, 2, out_bits=8, rounding=code).tolist() == rounded


@pytest.mark.parametrize("saturation", Saturation)
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("acc_bits", "out_bits"), [(acc, out) for acc, outs in SRS_MODES.items() for out in outs])
def test_srs(acc_bits, out_bits, signed, saturation):
    """Every rounding code; numbers at the limits, any numbers, and 16-bit ones."""
    rng = np.random.default_rng(7)
    top = 1 << acc_bits - 1
    edges = [-top, -top + 1, -1, 0, 1, top - 1]
    small = rng.integers(-(1 << 15), 1 << 15, 10)
    compared = 0
    for shift, code in product((-4, -1, 0, 1, 2, 7, 8, 16, 31, 32, 47, 62, 63), RoundingCode):
        assert shift in SRS_SHIFTS
        limit = 1 << out_bits << max(shift, 0)
        around = [(sign * limit >> each) + offset for sign in (-1, 1) for each in (0, 1) for offset in (-1, 0)]
        half = 1 << max(shift, 1) - 1
        # The ends of the result's ranges, zero, and the ties above them.
        ends = (0, limit // 2, limit, -limit // 2, -half * 2)
        around += [end + tie + step for end in ends for tie in (-half, 0) for step in (-1, 0, 1)]
        around = [each for each in around if -top <= each < top]
        acc = np.array([*edges, *small.tolist(), *rng.integers(-top, top, 6).tolist(), *around], np.int64)
        options = {"rounding": code, "saturate": saturation, "signed": signed}
        got = aie.srs(acc, shift, acc_bits=acc_bits, out_bits=out_bits, **options)
        assert got.tolist() == [exact.srs(each, shift, out_bits, code, saturation, signed) for each in acc.tolist()]
        compared += len(acc)
    assert compared > 2_000


@pytest.mark.parametrize("saturation", Saturation)
@pytest.mark.parametrize("code", RoundingCode)
def test_srs_of_16_bit_numbers(code, saturation):
    """To 8 bits at a shift that overflows, and one that does not."""
    for shift in (4, 9):
        got = aie.srs(ALL16, shift, out_bits=8, rounding=code, saturate=saturation)
        expected = [exact.srs(each, shift, 8, code, saturation, True) for each in ALL16[::37].tolist()]
        assert got[::37].tolist() == expected


def test_saturation_by_hand():
    acc = np.array([-200, -128, -127, 127, 200, 383])
    assert aie.srs(acc, 0, out_bits=8).tolist() == [56, -128, -127, 127, -56, 127]
    assert aie.srs(acc, 0, out_bits=8, saturate=1).tolist() == [-128, -128, -127, 127, 127, 127]
    assert aie.srs(acc, 0, out_bits=8, saturate=3).tolist() == [-127, -127, -127, 127, 127, 127]
    assert aie.srs(acc, 0, out_bits=8, saturate=1, signed=False).tolist() == [0, 0, 0, 127, 200, 255]
    # Rounding carries past the limit, and then saturates.
    assert aie.srs(np.array([255]), 1, out_bits=8, rounding=9, saturate=1).tolist() == [127]
    assert aie.srs(np.array([-1, 7]), -4, out_bits=8, saturate=1).tolist() == [-16, 112]


@pytest.mark.parametrize("saturation", Saturation)
@pytest.mark.parametrize("acc_bits", UPS_MODES)
def test_ups(acc_bits, saturation):
    rng = np.random.default_rng(8)
    top = 1 << max(UPS_MODES[acc_bits]) - 1
    x = np.array([-top, -1, 0, 1, top - 1, *rng.integers(-top, top, 20).tolist()])
    for shift in range(64):
        # The ends of the accumulator's range.
        ends = [(1 << max(acc_bits - 1 - shift, 0)) + step for step in (-1, 0, 1)]
        held = [*x.tolist(), *(min(max(sign * each, -top), top - 1) for each in ends for sign in (1, -1))]
        got = aie.ups(np.array(held), shift, acc_bits=acc_bits, saturate=saturation)
        assert got.tolist() == [exact.ups(each, shift, acc_bits, saturation) for each in held]
        if acc_bits == 32 and shift >= 32:
            assert not got.any()


def test_ups_by_hand():
    x = np.array([1, -1, 100, -100])
    assert aie.ups(x, 30, saturate=0).tolist() == [1 << 30, -(1 << 30), 0, 0]
    assert aie.ups(x, 30, saturate=1).tolist() == [1 << 30, -(1 << 30), 1 << 30, -(1 << 31)]
    assert aie.ups(x, 30, saturate=3).tolist() == [1 << 30, -(1 << 30), 1 << 30, -(1 << 30)]
    assert aie.ups(np.array([65535], np.uint16), 1, signed=False).tolist() == [131070]


@settings(deadline=None)
@given(INT64, st.integers(-4, 63), st.sampled_from(RoundingCode), st.sampled_from(Saturation), st.booleans())
def test_srs_of_any_64_bit_number(acc, shift, code, saturation, signed):
    got = aie.srs(np.array([acc]), shift, acc_bits=64, out_bits=32, rounding=code, saturate=saturation, signed=signed)
    assert got[0] == exact.srs(acc, shift, 32, code, saturation, signed)


@pytest.mark.parametrize("mode", INTEGER_MODES)
@pytest.mark.parametrize(("signed_a", "signed_b"), list(product((False, True), repeat=2)))
def test_integer_lanes(mode, signed_a, signed_b):
    """Every depth; the largest operands; accumulators that wrap."""
    row, rng = INTEGER_MODES[mode], np.random.default_rng(9)
    top = 1 << row.lane_bits - 1
    for depth in {row.depth, *(each for _, each in row.elementwise), *(each.taps for each in row.convolutions)}:
        sides = []
        for bits, signed in ((row.a_bits, signed_a), (row.b_bits, signed_b)):
            low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
            side = rng.integers(low, high + 1, (40, depth))
            side[:4], side[4:6] = low, high
            sides.append(side)
        accs = [rng.integers(-top, top, 40) for _ in range(2)]
        accs[0][:3], accs[1][:3] = -top, top - 1
        for flags in product((False, True), repeat=4):
            names = ("shift16", "negate_products", "negate_acc1", "negate_acc2")
            options = dict(zip(names, flags, strict=True))
            got = aie.integer_dot(*sides, *accs, mode=mode, signed_a=signed_a, signed_b=signed_b, **options)
            expected = [
                exact.integer_lane(row, a, b, acc1, acc2, **options)
                for a, b, acc1, acc2 in zip(*(each.tolist() for each in (*sides, *accs)), strict=True)
            ]
            assert got.tolist() == expected


def test_integers_by_hand():
    ones = np.ones(8, np.int8)
    top = np.array((1 << 31) - 1)
    assert aie.integer_dot(ones, ones, mode="int8") == 8
    assert aie.integer_dot(ones, ones, top, mode="int8") == -(1 << 31) + 7
    assert aie.integer_dot(ones, ones, top, mode="int8", zero_acc1=True) == 8
    assert aie.integer_dot(ones, ones, np.array(3), mode="int8", shift16=True) == 3 * 65536 + 8
    assert aie.integer_dot(ones * 5, ones, np.array(1), np.array(2), mode="int8", negate_products=True) == -37


def test_lanes_without_axes_are_arrays():
    """64-bit lanes wrap without a warning, and each conversion accepts the previous one's result."""
    largest = np.array((1 << 63) - 1)
    one = np.ones(2, np.int64)
    got = aie.integer_dot(one, one, largest, mode="int32x16")
    assert (type(got), got.shape, got) == (np.ndarray, (), -(1 << 63) + 1)
    assert aie.ups(aie.srs(np.array(-5), 1, out_bits=16), 1) == -6
    bits = np.array(0x3F800000, np.uint32)
    assert aie.bf16_to_f32(aie.f32_to_bf16(bits, rounding=RoundingCode.FLOOR)) == bits
    assert aie.fp16_to_f32(aie.f32_to_fp16(bits, rounding=RoundingCode.FLOOR)) == bits
