"""Flags: every lane by both tiers, their definitions by hand, and their bits in the status registers."""

from dataclasses import asdict, fields
from itertools import product

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import Flags, exact
from bitpath.golden.aie_ml_v2.declarations import codes
from bitpath.golden.aie_ml_v2.declarations.codes import SRS_MODES, UPS_MODES, RoundingCode, Saturation
from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8_FORMATS
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, PRESETS
from bitpath.golden.aie_ml_v2.mac.flags import with_lane_flags
from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.golden.formats.catalogue import BF16, E4M3FN, E4M3FNUZ, E5M2, FP16, FP32
from bitpath.verif.aie_ml_v2.golden.operands import KINDS, accumulators, fp32_blocks, matrices, near_codes
from bitpath.verif.common.boundary_codes import crossing

BASE = AIE_ML_V2.numerics
ALL16 = np.arange(1 << 16, dtype=np.uint16)
NARROW = (BF16, FP16, *FLOAT8_FORMATS)
by_name = {"ids": lambda each: getattr(each, "name", each)}
NAMES = [field.name for field in fields(Flags)]
EVEN = RoundingCode.CONV_EVEN


def flags(*names):
    return Flags(**dict.fromkeys(names, True))


def call_of(fmt):
    """Return the conversion to a format, and its arguments beside the codes."""
    if fmt.width == 8:
        return aie.f32_to_fp8, (DTYPES[fmt],)
    return (aie.f32_to_bf16 if fmt is BF16 else aie.f32_to_fp16), ()


def records(lanes, count):
    """Return the flags of each lane as records."""
    columns = {name: np.broadcast_to(lanes.get(name, False), (count,)).tolist() for name in NAMES}
    return [Flags(**{name: columns[name][i] for name in NAMES}) for i in range(count)]


@pytest.mark.parametrize("code", RoundingCode)
@pytest.mark.parametrize("fmt", NARROW, **by_name)
def test_narrow_at_every_tie(fmt, code):
    bits, saturate = near_codes(fmt)[:: 5 if fmt.width == 8 else 11], code.value % 4
    bits = np.append(bits, np.array(crossing(FP32, fmt), np.uint32))
    function, dtype = call_of(fmt)
    _, lanes = with_lane_flags(function, bits, *dtype, rounding=code, saturate=saturate)
    expected = [exact.narrow_flags(each, fmt, code, saturate=saturate) for each in bits.tolist()]
    assert records(lanes, len(bits)) == expected


@settings(deadline=None, max_examples=300)
@given(
    st.one_of(st.integers(0, (1 << 32) - 1), st.integers(0x7F700000, 0x7F900000), st.integers(0, 1 << 24)),
    st.sampled_from(NARROW),
    st.sampled_from(RoundingCode),
    st.integers(0, 3),
    st.integers(-32, 31),
)
def test_narrow_of_any_code_and_shift(bits, fmt, code, saturate, shift):
    function, dtype = call_of(fmt)
    scale = {"shift": shift} if dtype else {}
    array = np.array([bits], np.uint32)
    result, got = aie.with_flags(function, array, *dtype, rounding=code, saturate=saturate, **scale)
    assert np.array_equal(result, function(array, *dtype, rounding=code, saturate=saturate, **scale))
    assert got == exact.narrow_flags(bits, fmt, code, saturate=saturate, **scale)


@pytest.mark.parametrize(
    ("fmt", "bits", "code", "saturate", "expected"),
    [
        (FP16, 0x477FF000, EVEN, 0, flags("huge", "infinity")),  # 65520 is half-way between the largest and 2**16
        (FP16, 0x477FF000, EVEN, 1, flags("huge")),
        (FP16, 0x477FEFFF, EVEN, 0, flags()),
        (FP16, 0x7F800000, EVEN, 1, flags("infinity")),
        (FP16, 0x7F800000, EVEN, 2, flags()),
        (FP16, 0x7F800001, EVEN, 3, flags("invalid")),
        (E4M3FN, 0x7F800000, EVEN, 0, flags()),  # NaN of an infinity
        (E4M3FN, 0x7F7FFFFF, EVEN, 0, flags("huge")),
        (E4M3FNUZ, 0x80000000, EVEN, 0, flags("zero")),
        (E5M2, 0x37000000, EVEN, 0, flags("zero", "tiny")),  # 2**-17 is half of the smallest number
        (E5M2, 0x37000000, RoundingCode.CEIL, 0, flags("tiny")),
        (E5M2, 0xB7000000, RoundingCode.CEIL, 0, flags("zero", "tiny")),
        (FP16, 0x387FFFFF, EVEN, 0, flags()),  # rounds up to 2**-14 with 11 bits
        (FP16, 0x387FF000, EVEN, 0, flags()),
        (FP16, 0x387FEFFF, EVEN, 0, flags("tiny")),  # does not, though the result is 2**-14
        (BF16, 0x00000001, EVEN, 0, flags("zero", "tiny")),
        (BF16, 0x007FFFFF, EVEN, 0, flags()),
        (BF16, 0x00400000, EVEN, 0, flags("tiny")),
    ],
    **by_name,
)
def test_narrow_by_hand(fmt, bits, code, saturate, expected):
    function, dtype = call_of(fmt)
    assert exact.narrow_flags(bits, fmt, code, saturate=saturate) == expected
    array = np.array([bits], np.uint32)
    assert aie.with_flags(function, array, *dtype, rounding=code, saturate=saturate)[1] == expected


@pytest.mark.parametrize("shift", [-32, -7, 0, 1, 8, 31])
def test_integers_of_every_bf16_code(shift):
    _, lanes = with_lane_flags(aie.bf16_to_int32, ALL16, shift)
    got = records(lanes, len(ALL16))
    assert got[::11] == [exact.int32_flags(code, shift) for code in ALL16[::11].tolist()]


@pytest.mark.parametrize(
    ("code", "shift", "expected"),
    [
        (0x4F00, 0, flags("huge")),
        (0x4EFF, 0, flags()),
        (0xCF00, 0, flags()),  # -2**31 is in the range
        (0xCF01, 0, flags("huge")),
        (0xCE80, 1, flags()),
        (0xFF80, 0, flags("huge")),
        (0xFFC0, 0, flags("invalid")),
        (0x0000, 31, flags("zero")),
        (0x8000, 31, flags("zero")),
        (0x0001, 0, flags("zero", "tiny")),
        (0x8001, 0, flags()),
        (0x3F80, -1, flags("zero", "tiny")),
    ],
)
def test_integers_by_hand(code, shift, expected):
    assert exact.int32_flags(code, shift) == expected
    assert aie.with_flags(aie.bf16_to_int32, np.array([code], np.uint16), shift)[1] == expected


LANES = 60


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("preset", ["aie_ml_v2", "aie_ml_v2_split"])
def test_dots(kind, preset):
    """Lanes of bf16 and of MX9 with accumulators near the sum's negative, any and special."""
    rng, numerics = np.random.default_rng(14), PRESETS[preset].numerics
    a, b = (each[:LANES, :16] for each in (np.resize(side, (LANES, 70)) for side in matrices(rng, kind)))
    with np.errstate(all="ignore"):
        sums = (a[:, :8].astype(float) * b[:, :8]).sum(axis=1)
    acc = accumulators(rng, "any", sums)
    x, y = (each[:, :8].astype(ml_dtypes.bfloat16) for each in (a, b))
    for negate in (False, True):
        _, lanes = with_lane_flags(aie.fused_dot, x, y, acc, format="bf16", negate_products=negate, numerics=numerics)
        for i, got in enumerate(records(lanes, LANES)):
            left, right = ([(int(code), BF16) for code in codes_of(each[i])] for each in (x, y))
            word = int(acc.view(np.uint32)[i])
            lane = exact.trace_float_lane(numerics, left, right, word, negate_products=negate)
            assert got == exact.dot_flags(lane)
    left, right = (aie.to_mx(each, "mx9", numerics=numerics) for each in (a, b))
    _, lanes = with_lane_flags(aie.fused_dot, left, right, acc, format="mx9", numerics=numerics)
    for i, got in enumerate(records(lanes, LANES)):
        pair = (
            exact.Block(each.fmt, int(each.exponent[i, 0]), int(each.shift[i, 0]), tuple(map(int, each.codes[i, 0])))
            for each in (left, right)
        )
        assert got == exact.dot_flags(exact.trace_mx_lane(numerics, *pair, int(acc.view(np.uint32)[i])))


def lane(*codes):
    return np.array([*codes, *[0] * (8 - len(codes))], np.uint16).view(ml_dtypes.bfloat16)


INFINITY, NAN, LARGEST, SMALL = 0x7F80, 0x7FC0, 0x7F7F, 0x2000
ACC = np.array([0x00800000, 0x80800000, 0x007FFFFF, 0xFF800000], np.uint32).view(np.float32)


@pytest.mark.parametrize(
    ("a", "b", "acc", "expected"),
    [
        (lane(LARGEST), lane(LARGEST), None, flags("infinity", "huge")),
        (lane(INFINITY), lane(0x4000), None, flags("infinity")),
        (lane(INFINITY), lane(0), None, flags("invalid")),
        (lane(NAN), lane(0x4000), None, flags("invalid")),
        (lane(INFINITY), lane(0x4000), ACC[3], flags("invalid")),
        (lane(LARGEST), lane(LARGEST), ACC[3], flags("infinity")),
        (lane(0), lane(0x4000), None, flags("zero")),
        (lane(0x4000, 0x4000), lane(0x4000, 0xC000), None, flags("zero")),
        (lane(0x0080), lane(0x3F00), None, flags("zero", "tiny")),  # 2**-127 is flushed
        (lane(0), lane(0), ACC[0], flags()),
        (lane(0), lane(0), ACC[2], flags("zero", "tiny")),
    ],
)
def test_dots_by_hand(a, b, acc, expected):
    word = None if acc is None else int(acc.view(np.uint32))
    acc = None if acc is None else np.array(acc)
    assert aie.with_flags(aie.fused_dot, a, b, acc, format="bf16")[1] == expected
    pairs = ([(int(code), BF16) for code in codes_of(each)] for each in (a, b))
    assert exact.dot_flags(exact.trace_float_lane(BASE, *pairs, word)) == expected


def test_zeroed_accumulators_set_no_flag():
    options = {"format": "bf16", "zero_acc1": True}
    assert aie.with_flags(aie.fused_dot, lane(0x4000), lane(0x4000), np.array(ACC[3]), **options)[1] == flags()


def test_flags_of_lanes_are_ored():
    bits = np.array([0, 0x7F800000, 0x7FC00000], np.uint32)
    result, got = aie.with_flags(aie.f32_to_bf16, bits, rounding=12)
    assert (result.tolist(), got) == ([0, 0x7F80, 0x7FC0], flags("zero", "infinity", "invalid"))
    assert aie.with_flags(aie.f32_to_bf16, bits[:0], rounding=12)[1] == flags()


@pytest.mark.parametrize("name", ["mx9", "mx4", "bfp16ebs8"])
def test_blocks_are_invalid_where_an_input_is_nan(name):
    rng = np.random.default_rng(15)
    bits = fp32_blocks(rng, aie.to_mx(np.zeros(16, np.float32), name).fmt, 100)
    blocks, got = aie.with_flags(aie.to_mx, bits.view(np.float32), name)
    assert np.array_equal(blocks.codes, aie.to_mx(bits.view(np.float32), name).codes)
    assert got == Flags(invalid=any(exact.mx_flags(row).invalid for row in bits.tolist()))
    words = np.full(16, 0x3F800000, np.uint32)
    for word, expected in ((0x7F800000, flags()), (0xFF800001, flags("invalid"))):
        words[5] = word
        assert aie.with_flags(aie.to_mx, words.view(np.float32), name)[1] == expected
        assert exact.mx_flags(words.tolist()) == expected


@pytest.mark.parametrize(("acc_bits", "bits"), [(acc, bits) for acc, widths in SRS_MODES.items() for bits in widths])
def test_integer_lanes(acc_bits, bits):
    rng = np.random.default_rng(16)
    top = 1 << acc_bits - 1
    acc = rng.integers(-top, top - 1, 40, endpoint=True) >> rng.integers(0, acc_bits, 40)
    acc[:4] = top - 1, -top, 1 << bits - 1, -(1 << bits - 1)
    for shift, code, saturation, signed in product((-4, -1, 0, 5, 63), (0, 12), Saturation, (False, True)):
        options = {"rounding": code, "saturate": saturation, "signed": signed}
        _, lanes = with_lane_flags(aie.srs, acc, shift, acc_bits=acc_bits, out_bits=bits, **options)
        expected = [exact.srs_flags(each, shift, bits, RoundingCode(code), saturation, signed) for each in acc.tolist()]
        assert records(lanes, len(acc)) == expected
    bits = max(UPS_MODES[acc_bits])
    for shift, saturation, signed in product((0, 1, bits, acc_bits - bits, 32, 63), Saturation, (False, True)):
        low = -(1 << bits - 1) if signed else 0
        x = rng.integers(low, low + (1 << bits) - 1, 40, endpoint=True) >> rng.integers(0, bits, 40)
        x[:2] = low, low + (1 << bits) - 1
        _, lanes = with_lane_flags(aie.ups, x, shift, acc_bits=acc_bits, saturate=saturation, signed=signed)
        assert records(lanes, 40) == [exact.ups_flags(each, shift, acc_bits, saturation) for each in x.tolist()]


def test_bits_of_the_registers():
    """SR1's float MAC flags of the example, and all bits apart."""
    assert exact.status_word(codes.MAC_FLAGS, flags("infinity", "huge")) >> 7 == 0b10010
    assert exact.status_word(codes.FLOOR_FLAGS, Flags(**dict.fromkeys(NAMES, True))) == 0b11101 << 12
    groups = [each for each in vars(codes).values() if isinstance(each, codes.FlagGroup)]
    assert {name for each in groups for name in each.bits} <= set(asdict(Flags()))
    taken = [*map(int, codes.Status1), *(bit for each in groups for bit in each.bits.values())]
    assert sorted(taken) == [*range(6), *range(7, 13), *range(14, 25), 27]
