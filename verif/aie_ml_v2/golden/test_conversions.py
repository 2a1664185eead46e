"""Conversions of floats and integers: every tie and code, SRS and UPS, PACK and UNPACK, by both tiers and by hand."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.codes import (
    FLOAT_SHIFTS,
    FP8_FORMATS,
    SRS_MODES,
    SRS_SHIFTS,
    UPS_MODES,
    FloatSaturation,
    RoundingCode,
    Saturation,
)
from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8_FORMATS, INTEGER_MODES
from bitpath.golden.aie_ml_v2.declarations.mover import Sr2
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2
from bitpath.golden.arrays.codec import DTYPES, decode_array
from bitpath.golden.arrays.fp32 import shift_round
from bitpath.golden.formats.catalogue import BF16, E4M3, E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ, FP16, FP32
from bitpath.golden.scalar.rounding import shift_round as exact_shift_round
from bitpath.verif.aie_ml_v2.golden.operands import near_codes
from bitpath.verif.common.boundary_codes import codes, crossing, integer_crossing

# Integers to FP32 and back with their flags, PACK and UNPACK, by both tiers and by hand.


TOP = 1 << 31
integers = st.integers(-TOP, TOP - 1) | st.integers(0, 31).flatmap(
    lambda place: st.sampled_from([-(1 << place), (1 << place) - 1, -(1 << place) + 1])
)
shifts = st.sampled_from(FLOAT_SHIFTS)


def pairs(results):
    return list(zip(*(each.tolist() for each in results), strict=True))


def test_ties_and_carries_of_every_length():
    """Around every power of two, half a unit and one beside it; both signs."""
    places = [(1 << place) + step for place in range(31) for step in (-1, 0, 1)]
    halves = [
        (1 << place) + odd * (1 << place - 24) + step
        for place in range(24, 31)
        for odd in (1, 3)
        for step in (-1, 0, 1)
    ]
    numbers = np.array([*places, *halves, TOP - 1], np.int64)
    numbers = np.concatenate([numbers, -numbers, [-TOP]]).astype(np.int32)
    for shift in (-32, -1, 0, 31):
        assert pairs(aie.fix_to_float(numbers, shift)) == [exact.fix_to_float(n, shift) for n in numbers.tolist()]


def test_every_exponent_and_shift():
    """Fractions at its ends and ties of every length."""
    fractions = [0, 1, 0x7FFFFF, 0x7FFFFE, *(1 << place for place in range(23)), *(3 << place for place in range(22))]
    codes = [sign << 31 | e << 23 | f for sign, e, f in product((0, 1), range(256), fractions)]
    for shift in (-32, -7, 0, 8, 31):
        got = pairs(aie.float_to_fix(np.array(codes, np.uint32), shift))
        assert got == [exact.float_to_fix(code, shift) for code in codes]


@pytest.mark.parametrize("shift", FLOAT_SHIFTS)
def test_boundaries_of_fix_float(shift):
    """Both ends of the integers and of FP32's normal and subnormal numbers, the ties beside them, their neighbours and zeros."""
    numbers = [
        0,
        1,
        TOP - 1,
        TOP - 2,
        *(bound + step for bound in (1 << 24, TOP - 64, TOP - 128) for step in (-1, 0, 1)),
    ]
    numbers += [-number for number in numbers] + [-TOP]
    got = pairs(aie.fix_to_float(np.array(numbers, np.int32), shift))
    assert got == [exact.fix_to_float(n, shift) for n in numbers]
    codes = integer_crossing(FP32, -TOP, TOP - 1, shift)
    got = pairs(aie.float_to_fix(np.array(codes, np.uint32), shift))
    assert got == [exact.float_to_fix(code, shift) for code in codes]


@settings(deadline=None, max_examples=300)
@given(integers, shifts)
def test_any_integer(n, shift):
    got = aie.fix_to_float(np.array(n, np.int32), shift)
    assert tuple(map(int, got)) == exact.fix_to_float(n, shift)


@settings(deadline=None, max_examples=300)
@given(st.integers(0, (1 << 32) - 1), shifts)
def test_any_code(code, shift):
    got = aie.float_to_fix(np.array(code, np.uint32), shift)
    assert tuple(map(int, got)) == exact.float_to_fix(code, shift)


@pytest.mark.parametrize(
    ("n", "shift", "code", "flags"),
    [
        (128, 8, 0x3F000000, Sr2(0)),
        ((1 << 24) + 3, 0, 0x4B800002, Sr2.TO_FLOAT_INEXACT),
        (0, -32, 0, Sr2.TO_FLOAT_ZERO),
        (-TOP, -32, 0xDF000000, Sr2(0)),
    ],
)
def test_to_float_by_hand(n, shift, code, flags):
    assert exact.fix_to_float(n, shift) == (code, flags)
    assert pairs(aie.fix_to_float(np.array([n], np.int32), shift)) == [(code, flags)]


@pytest.mark.parametrize(
    ("code", "shift", "n", "flags"),
    [
        (0x40200000, 0, 2, Sr2.TO_FIX_INEXACT),
        (0x3E99999A, 8, 77, Sr2.TO_FIX_INEXACT),
        (0xCF000001, 0, -TOP, Sr2.TO_FIX_HUGE | Sr2.TO_FIX_INEXACT),
        (0xCF000000, 0, -TOP, Sr2(0)),
        (0x4F000000, 0, TOP - 1, Sr2.TO_FIX_HUGE | Sr2.TO_FIX_INEXACT),
        (0x7F800000, -32, TOP - 1, Sr2.TO_FIX_HUGE | Sr2.TO_FIX_INEXACT),
        (0xFF800000, -32, -TOP, Sr2.TO_FIX_HUGE | Sr2.TO_FIX_INEXACT),
        (0xFF800001, 31, TOP - 1, Sr2.TO_FIX_INVALID | Sr2.TO_FIX_INEXACT),
        (0x80000000, 31, 0, Sr2.TO_FIX_ZERO),
        (0x80000001, 31, 0, Sr2.TO_FIX_ZERO | Sr2.TO_FIX_INEXACT),
    ],
)
def test_to_fix_by_hand(code, shift, n, flags):
    assert exact.float_to_fix(code, shift) == (n, flags)
    assert pairs(aie.float_to_fix(np.array([code], np.uint32), shift)) == [(n, flags)]


def test_both_ways_are_the_identity():
    """Integers of 24 bits are exact, whatever the shift."""
    numbers = np.arange(-(1 << 24), (1 << 24) + 1, 1021, np.int32)
    for shift in FLOAT_SHIFTS:
        codes, _ = aie.fix_to_float(numbers, shift)
        assert np.array_equal(aie.float_to_fix(codes, shift)[0], numbers)


@pytest.mark.parametrize(("bits", "saturation", "signed"), list(product((4, 8), Saturation, (False, True))))
def test_every_element_packed(bits, saturation, signed):
    count = 1 << 2 * bits
    numbers = np.arange(count) - (count >> 1) * signed
    expected = [exact.pack(each, bits, saturation, signed) for each in numbers.tolist()]
    assert aie.pack(numbers, bits=bits, saturate=saturation, signed=signed).tolist() == expected


@pytest.mark.parametrize(
    ("x", "saturation", "signed", "packed"),
    [
        (9, 0, True, -7),
        (9, 1, True, 7),
        (-9, 3, True, -7),
        (-9, 1, True, -8),
        (0xF7, 0, False, 7),
        (0xF7, 3, False, 15),
    ],
)
def test_pack_by_hand(x, saturation, signed, packed):
    assert aie.pack(np.array([x]), bits=4, saturate=saturation, signed=signed).tolist() == [packed]


@pytest.mark.parametrize(("signed", "expected"), [(True, [-1, -8]), (False, [15, 8])])
def test_every_byte_unpacked(signed, expected):
    every = np.arange(256, dtype=np.uint8)
    assert aie.unpack4(np.array([0x8F], np.uint8), signed=signed).tolist() == expected
    unpacked = aie.unpack4(every, signed=signed)
    assert unpacked.reshape(256, 2).tolist() == [list(exact.unpack4(byte, signed)) for byte in range(256)]
    assert np.array_equal(aie.pack(unpacked.astype(int), bits=4, signed=signed), unpacked)


def test_a_number_has_no_nibbles_beside_it():
    with pytest.raises(ValueError, match=r"^x must have shape \[\.\.\., N\], not \(\)$"):
        aie.unpack4(np.array(1, np.uint8))


# Integer lanes: SRS over all 16-bit numbers, UPS, and the modes of Table 7, by both tiers.


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


def test_integer_lanes_by_hand():
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


# Conversions of floats: all codes of the narrow formats, every tie, by both tiers; FP32 from three BF16 pieces.


INT32 = -(1 << 31), (1 << 31) - 1
BASE = AIE_ML_V2.numerics
ALL_CODES = np.arange(1 << 16, dtype=np.uint16)
NARROW = (BF16, FP16, *FLOAT8_FORMATS)
by_name = {"ids": lambda each: getattr(each, "name", each)}


def narrow(bits, fmt, code, saturate=0, shift=0):
    if fmt is BF16:
        return aie.f32_to_bf16(bits, rounding=code, saturate=saturate)
    if fmt is FP16:
        return aie.f32_to_fp16(bits, rounding=code, saturate=saturate)
    return aie.f32_to_fp8(bits, DTYPES[fmt], rounding=code, saturate=saturate, shift=shift)


@pytest.mark.parametrize("code", RoundingCode)
@pytest.mark.parametrize("fmt", NARROW, **by_name)
def test_every_tie(fmt, code):
    bits = near_codes(fmt)
    for saturate in range(4):
        some = bits if saturate in (0, 3) else bits[::9]
        expected = [exact.narrow(each, fmt, code, saturate=saturate) for each in some.tolist()]
        assert narrow(some, fmt, code, saturate).tolist() == expected


@pytest.mark.parametrize("code", RoundingCode)
@pytest.mark.parametrize("fmt", NARROW, **by_name)
def test_boundaries_of_conversions(fmt, code):
    """The ends of both formats' normal and subnormal numbers, the ties beside them, their neighbours and both zeros."""
    for shift, saturate in ((0, 0), (0, 3), (-32, 1), (31, 2)) if fmt.width == 8 else ((0, 0), (0, 3)):
        bits = crossing(FP32, fmt, shift)
        expected = [exact.narrow(each, fmt, code, saturate=saturate, shift=shift) for each in bits]
        assert narrow(np.array(bits, np.uint32), fmt, code, saturate, shift).tolist() == expected


@settings(deadline=None, max_examples=300)
@given(
    st.integers(0, (1 << 32) - 1),
    st.sampled_from(NARROW),
    st.sampled_from(RoundingCode),
    st.integers(0, 3),
    st.integers(-32, 31),
)
def test_any_code_and_shift(bits, fmt, code, saturate, shift):
    shift = shift if fmt.width == 8 else 0
    got = narrow(np.array([bits], np.uint32), fmt, code, saturate, shift)
    assert got[0] == exact.narrow(bits, fmt, code, saturate=saturate, shift=shift)


@pytest.mark.parametrize("fmt", NARROW, **by_name)
def test_nearest_even_is_numpy(fmt):
    """Without overflow the results equal those of ml_dtypes and numpy, which round to nearest even."""
    rng = np.random.default_rng(10)
    values = (rng.standard_normal(20_000) * np.exp2(rng.integers(-20, 6, 20_000))).astype(np.float32)
    values = np.clip(values, -float(fmt.max), float(fmt.max)).astype(np.float32)
    expected = values.astype(DTYPES[fmt]).view(f"u{fmt.width // 8}")
    assert np.array_equal(narrow(values.view(np.uint32), fmt, RoundingCode.CONV_EVEN), expected)


@pytest.mark.parametrize(
    ("fmt", "saturated", "overflow", "nan"),
    [
        *((BF16, 0x7F7F, 0x7F80, 0xFF81), (FP16, 0x7BFF, 0x7C00, 0xFC01), (E4M3, 0x77, 0x78, 0xF9)),
        *((E4M3FN, 0x7E, 0x7F, 0xFF), (E4M3FNUZ, 0x7F, 0x80, 0x80), (E5M2, 0x7B, 0x7C, 0xFD)),
        (E5M2FNUZ, 0x7F, 0x80, 0x80),
    ],
    **by_name,
)
def test_overflow_by_hand(fmt, saturated, overflow, nan):
    bits = np.array([0x7F7FFFFF, 0x7F800000, 0xFF800001], np.uint32)
    finite, infinite = (overflow, saturated), (overflow, overflow, saturated, saturated)
    for saturate in range(4):
        got = narrow(bits, fmt, RoundingCode.CONV_EVEN, saturate)
        assert got.tolist() == [finite[saturate & 1], infinite[saturate], nan]
    for whole, bits_of in ((True, 3), (False, 0), (FloatSaturation.INFINITE, 2)):
        assert np.array_equal(
            narrow(bits, fmt, RoundingCode.FLOOR, whole), narrow(bits, fmt, RoundingCode.FLOOR, bits_of)
        )
        assert exact.narrow(0x7F800000, fmt, RoundingCode.FLOOR, saturate=whole) == infinite[bits_of]


@pytest.mark.parametrize(("shift", "code"), [(3, 0x48), (-3, 0x30)])
def test_a_shift_scales_by_a_power_of_two(shift, code):
    one = 0x3F800000
    assert narrow(np.array([one], np.uint32), E5M2, RoundingCode.CONV_EVEN, shift=shift)[0] == code
    assert exact.narrow(one, E5M2, RoundingCode.CONV_EVEN, shift=shift) == code


@pytest.mark.parametrize("shift", [-32, 31])
def test_an_infinity_stays_one_whatever_the_shift(shift):
    bits = np.array([0x7F800000, 0xFF800000], np.uint32)
    assert narrow(bits, E5M2, RoundingCode.FLOOR, shift=shift).tolist() == [0x7C, 0xFC]


def test_representations():
    assert [FP8_FORMATS["e4m3", code].name for code in range(3)] == ["E4M3", "E4M3FN", "E4M3FNUZ"]
    assert [FP8_FORMATS["e5m2", code].name for code in range(3)] == ["E5M2", "E5M2", "E5M2FNUZ"]


def test_widening_of_every_code():
    assert np.array_equal(aie.bf16_to_f32(ALL_CODES), ALL_CODES.astype(np.uint32) << 16)
    some = [*range(0, 1 << 16, 37), *codes(BF16)]
    assert aie.bf16_to_f32(ALL_CODES)[some].tolist() == [exact.widen(code, BF16) for code in some]
    got, some = aie.fp16_to_f32(ALL_CODES), [*range(0, 1 << 16, 7), *codes(FP16)]
    assert got[some].tolist() == [exact.widen(code, FP16) for code in some]
    quiet = ~np.isnan(ALL_CODES.view(np.float16))
    assert np.array_equal(got[quiet], ALL_CODES.view(np.float16)[quiet].astype(np.float32).view(np.uint32))


@pytest.mark.parametrize("fmt", FLOAT8_FORMATS, **by_name)
def test_8_bit_floats_widen_by_a_multiplication(fmt):
    every = np.arange(256, dtype=np.uint8)
    values = decode_array(fmt, every)
    got = aie.fp8_to_f32(every.view(DTYPES[fmt]))
    assert np.array_equal(got, values.astype(np.float32), equal_nan=True)
    assert not np.signbit(got[got == 0]).any()


@pytest.mark.parametrize("shift", [-32, -7, -1, 0, 1, 8, 31])
def test_bf16_codes_to_integers(shift):
    got = aie.bf16_to_int32(ALL_CODES, shift)
    assert got.dtype == np.int32
    some = [*range(0, 1 << 16, 11), *integer_crossing(BF16, *INT32, shift)]
    assert got[some].tolist() == [exact.bf16_to_int32(code, shift) for code in some]


@pytest.mark.parametrize(
    ("code", "integer"),
    [
        *((0x8001, -1), (0x0001, 0), (0xBF80, -1), (0xBFC0, -2), (0x3FC0, 1), (0x4F00, (1 << 31) - 1)),
        *((0xCF00, -(1 << 31)), (0x7FC0, (1 << 31) - 1), (0xFFC0, (1 << 31) - 1), (0xFF80, -(1 << 31)), (0x8000, 0)),
    ],
)
def test_bf16_to_integers_by_hand(code, integer):
    assert aie.bf16_to_int32(np.array([code], np.uint16))[0] == integer


@pytest.mark.parametrize("shift", [-3, 0, 20])
def test_fp32_to_integers_rounds_to_bf16_first(shift):
    rng = np.random.default_rng(13)
    bits = np.append(rng.integers(0, 1 << 32, 500), integer_crossing(FP32, *INT32, shift)).astype(np.uint32)
    for code in RoundingCode:
        got = aie.f32_to_int32(bits, shift, rounding=code)
        assert got.tolist() == [exact.f32_to_int32(each, shift, code) for each in bits.tolist()]
    # 257 has 9 significant bits.
    above = np.array([0x43808000], np.uint32)
    assert [aie.f32_to_int32(above, rounding=each).item() for each in (0, 1, 12, 13)] == [256, 258, 256, 258]


def test_three_pieces():
    rng = np.random.default_rng(11)
    edges = [0, 1 << 31, 1, 0x7FFFFF, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00001, 0x3F800001]
    bits = np.concatenate([rng.integers(0, 1 << 32, 2000), edges, crossing(FP32, BF16)]).astype(np.uint32)
    pieces = aie.split_f32(bits.view(np.float32))
    assert pieces.shape == (3, len(bits))
    assert pieces.view(np.uint16).T.tolist() == [list(exact.split_f32(each)) for each in bits.tolist()]
    exponent = bits >> 23 & 0xFF
    wide = (exponent > 24) & (exponent < 254)
    with np.errstate(invalid="ignore"):
        total = pieces.astype(np.float64).sum(axis=0)
    assert np.array_equal(total[wide], bits.view(np.float32)[wide].astype(np.float64))


@pytest.mark.parametrize(
    ("products", "pairs"),
    [
        (9, [(2, 2), (2, 1), (1, 2), (2, 0), (1, 1), (0, 2), (1, 0), (0, 1), (0, 0)]),
        (6, [(2, 0), (1, 1), (0, 2), (1, 0), (0, 1), (0, 0)]),
        (3, [(1, 0), (0, 1), (0, 0)]),
    ],
)
def test_emulated_products(products, pairs):
    """Both tiers, the smallest products first; 9 are nearer to FP32 than 3."""
    assert exact.piece_pairs(products) == pairs
    rng = np.random.default_rng(12)
    a, b = (rng.standard_normal((30, 8), dtype=np.float32) for _ in range(2))
    acc = rng.standard_normal(30, dtype=np.float32)
    got = aie.f32_dot(a, b, acc, products=products)
    for i in range(30):
        x, y = ([exact.split_f32(word) for word in side[i].view(np.uint32).tolist()] for side in (a, b))
        bits = int(acc[i].view(np.uint32))
        for p, q in pairs:
            lane = [(each[p], BF16) for each in x], [(each[q], BF16) for each in y]
            bits = exact.trace_float_lane(BASE, *lane, bits).result
        assert got[i].view(np.uint32) == bits
    error = np.abs(got - ((a.astype(float) * b).sum(axis=-1) + acc)).max()
    assert error < {9: 1e-6, 6: 1e-6, 3: 2e-4}[products]
    assert np.array_equal(aie.f32_dot(a, b, products=products), aie.f32_dot(a, b, acc * 0, products=products))
