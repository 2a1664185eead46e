"""Conversions of floats: all codes of the narrow formats, every tie, by both tiers; FP32 from three BF16 pieces."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.codes import FP8_FORMATS, FloatSaturation, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8_FORMATS
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2
from bitpath.golden.arrays.codec import DTYPES, decode_array
from bitpath.golden.formats.catalogue import BF16, E4M3, E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ, FP16, FP32
from bitpath.verif.aie_ml_v2.golden.operands import near_codes
from bitpath.verif.common.boundary_codes import codes, crossing, integer_crossing

INT32 = -(1 << 31), (1 << 31) - 1
BASE = AIE_ML_V2.numerics
ALL16 = np.arange(1 << 16, dtype=np.uint16)
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
def test_boundaries(fmt, code):
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
    assert np.array_equal(aie.bf16_to_f32(ALL16), ALL16.astype(np.uint32) << 16)
    some = [*range(0, 1 << 16, 37), *codes(BF16)]
    assert aie.bf16_to_f32(ALL16)[some].tolist() == [exact.widen(code, BF16) for code in some]
    got, some = aie.fp16_to_f32(ALL16), [*range(0, 1 << 16, 7), *codes(FP16)]
    assert got[some].tolist() == [exact.widen(code, FP16) for code in some]
    quiet = ~np.isnan(ALL16.view(np.float16))
    assert np.array_equal(got[quiet], ALL16.view(np.float16)[quiet].astype(np.float32).view(np.uint32))


@pytest.mark.parametrize("fmt", FLOAT8_FORMATS, **by_name)
def test_8_bit_floats_widen_by_a_multiplication(fmt):
    every = np.arange(256, dtype=np.uint8)
    values = decode_array(fmt, every)
    got = aie.fp8_to_f32(every.view(DTYPES[fmt]))
    assert np.array_equal(got, values.astype(np.float32), equal_nan=True)
    assert not np.signbit(got[got == 0]).any()


@pytest.mark.parametrize("shift", [-32, -7, -1, 0, 1, 8, 31])
def test_bf16_codes_to_integers(shift):
    got = aie.bf16_to_int32(ALL16, shift)
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
def test_integers_by_hand(code, integer):
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
