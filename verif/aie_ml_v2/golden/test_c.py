"""The C reference against golden, bit for bit: random operands, corners of every format, and all presets."""

from itertools import product

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import (
    BFP16EBS8,
    BLOCK_FORMATS,
    MX_BLOCK,
    MX_FORMATS,
    SRS_MODES,
    UPS_MODES,
    RoundingCode,
    Saturation,
)
from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8_FORMATS, FLOAT16_FORMATS, INTEGER_MODES
from bitpath.golden.aie_ml_v2.declarations.numerics import PRESETS, XDNA2_BFP16EBS8
from bitpath.golden.aie_ml_v2.matmul.matmul import FLOAT_FORMATS
from bitpath.golden.aie_ml_v2.operands.layout import MxBlocks
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.c.constants import enumerations
from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.verif.aie_ml_v2.golden.operands import SETS, every_lane, operands
from bitpath.verif.kit.c_library import FEW, MANY, counts

C = {name.removeprefix("BITPATH_AIE_ML_V2_"): number for name, number in enumerations("aie_ml_v2").items()}
FLAGS = ("negate_products", "negate_acc1", "negate_acc2", "zero_acc1")
FP32_CORNERS = [
    0,
    1 << 31,
    1,
    0x807FFFFF,
    0x800000,
    0x7F7FFFFF,
    0xFF7FFFFF,
    0x7F800000,
    0xFF800000,
    0x7FC00000,
    0xFF800001,
]


@pytest.fixture
def reference(c_reference):
    return c_reference("aie_ml_v2")


def accumulators(rng, count, middle=127):
    exponents = np.clip(middle + rng.integers(-30, 30, count), 0, 255)
    codes = rng.integers(0, 2, count) << 31 | exponents << 23 | rng.integers(0, 1 << 23, count)
    return np.where(rng.random(count) < 0.1, rng.choice(FP32_CORNERS, count), codes).astype(np.uint32)


def floats(rng, fmt, shape, special):
    """Return codes around one, and one in `special` near zero, the largest number, infinity or NaN."""
    biased = np.clip(fmt.bias + rng.integers(-8, 8, shape), 0, fmt.exponent_mask)
    codes = (
        biased << fmt.fraction_bits
        | rng.integers(0, fmt.fraction_mask + 1, shape)
        | rng.choice([0, fmt.sign_mask], shape)
    )
    near = [0, 1, fmt.fraction_mask, fmt.max_code, min(fmt.max_code + 1, fmt.sign_mask - 1), fmt.sign_mask - 1]
    corners = rng.choice([code | sign for code in near for sign in (0, fmt.sign_mask)], shape)
    codes = np.where(rng.random(shape) < special, corners, codes)
    return codes.astype(f"u{DTYPES[fmt].itemsize}")


def controls(options):
    return sum(C[name.upper()] for name, given in options.items() if given)


FLOAT_PAIRS = [*product(FLOAT16_FORMATS, repeat=2), *product(FLOAT8_FORMATS, repeat=2)]
LANES = [
    # `make test` takes the presets in turn, the deep tests all of them.
    *((list(PRESETS)[number % len(PRESETS)], pair, FEW) for number, pair in enumerate(FLOAT_PAIRS)),
    *(pytest.param(preset, pair, MANY, marks=pytest.mark.deep) for preset, pair in product(PRESETS, FLOAT_PAIRS)),
]


@pytest.mark.parametrize(("preset", "pair", "count"), LANES)
def test_float_dot(c_reference, preset, pair, count):
    rng, fmt = np.random.default_rng(1), "bf16" if pair[0] in FLOAT16_FORMATS else "fp8"
    for special, depth in ((0.0, 8), (0.02, 8), (0.3, 8), *(((0.1, 1),) if fmt == "bf16" else ())):
        codes = [floats(rng, each, (count, 8), special) for each in pair]
        a, b = (each[:, :depth].view(DTYPES[own]) for each, own in zip(codes, pair, strict=True))
        acc1, acc2 = accumulators(rng, count), accumulators(rng, count)
        options = {name: bool(rng.integers(2)) for name in FLAGS}
        accs = acc1.view(np.float32), acc2.view(np.float32)
        expected = aie.fused_dot(a, b, *accs, format=fmt, numerics=PRESETS[preset].numerics, **options)
        formats = [C[each.name] for each in pair]
        got = c_reference("aie_ml_v2", preset).array_form(
            "float_dot", codes[0], formats[0], codes[1], formats[1], depth, acc1, acc2, controls(options)
        )
        assert np.array_equal(got, expected.view(np.uint32))


def test_accumulators_alone(reference):
    rng = np.random.default_rng(2)
    acc1, acc2 = accumulators(rng, FEW), accumulators(rng, FEW)
    acc2[::3] = acc1[::3] ^ 1 << 31 ^ 1
    got = reference.array_form("float_dot", np.zeros((FEW, 8)), 0, np.zeros((FEW, 8)), 0, 0, acc1, acc2, 0)
    expected = aie.add_accumulators(acc1.view(np.float32), acc2.view(np.float32))
    assert np.array_equal(got, expected.view(np.uint32))


def blocks(rng, fmt, count):
    """Return blocks of any codes; exponents lie around 127, some at the ends."""
    exponent = np.clip(127 + rng.integers(-12, 12, count), 0, 255)
    exponent = np.where(rng.random(count) < 0.06, rng.choice([0, 1, 254, 255], count), exponent).astype(np.uint8)
    codes = rng.integers(fmt.min_code, fmt.max_code + 1, (count, 1, fmt.elements)).astype(np.int8)
    codes[::5] = rng.choice([0, fmt.min_code, fmt.max_code], codes[::5].shape)
    codes[::7] = 0
    shift = rng.integers(0, 256 if fmt.has_shifts else 1, (count, 1)).astype(np.uint8)
    return MxBlocks(fmt, exponent[:, None], shift, codes)


def head_and_codes(mx):
    return np.stack([mx.exponent.reshape(-1), mx.shift.reshape(-1)], axis=1), padded(
        mx.codes.reshape(-1, mx.fmt.elements)
    )


def padded(places):
    """Return the places of blocks [..., 8 or 16] as C takes them: 16, with zeros behind the eight of bfp16ebs8."""
    return np.pad(places, ((0, 0), (0, MX_BLOCK - places.shape[-1])))


@counts
@pytest.mark.parametrize("name", BLOCK_FORMATS)
@pytest.mark.parametrize("preset", PRESETS)
def test_mx_dot(c_reference, preset, name, count):
    rng = np.random.default_rng(3)
    for zeros in (False, True):
        a, b = (blocks(rng, BLOCK_FORMATS[name], count) for _ in range(2))
        acc1, acc2 = accumulators(rng, count), accumulators(rng, count)
        acc1[zeros:2], acc2[: count // 2] = 0, 0
        options = {flag: bool(rng.integers(2)) for flag in FLAGS}
        accs = acc1.view(np.float32), acc2.view(np.float32)
        expected = aie.fused_dot(a, b, *accs, format=name, numerics=PRESETS[preset].numerics, **options)
        got = c_reference("aie_ml_v2", preset).array_form(
            "mx_dot", C[name.upper()], *head_and_codes(a), *head_and_codes(b), acc1, acc2, controls(options)
        )
        assert np.array_equal(got, expected.view(np.uint32))


@counts
@pytest.mark.parametrize("mode", INTEGER_MODES)
def test_integer_dot(reference, mode, count):
    rng, row = np.random.default_rng(4), INTEGER_MODES[mode]
    limits = [(-1 << bits - 1, (1 << bits - 1) - 1) for bits in (row.a_bits, row.b_bits, row.lane_bits)]
    for _ in range(4):
        a, b, accs = (
            np.where(
                rng.random(shape) < 0.2,
                rng.choice([low, high, 0, -1], shape),
                rng.integers(low, high, shape, endpoint=True),
            )
            for (low, high), shape in zip(limits, ((count, row.depth), (count, row.depth), (2, count)), strict=True)
        )
        options = {name: bool(rng.integers(2)) for name in (*FLAGS, "shift16")}
        expected = aie.integer_dot(a, b, accs[0], accs[1], mode=mode, **options)
        wide = [np.pad(each, ((0, 0), (0, 8 - row.depth))) for each in (a, b)]
        got = reference.array_form("integer_dot", *wide, row.depth, row.lane_bits, accs[0], accs[1], controls(options))
        assert np.array_equal(got, expected)


def fp32_blocks(rng, count):
    middle = rng.integers(0, 255, (count, 1))
    exponents = np.clip(middle - rng.integers(0, 12, (count, 16)), 0, 254)
    fractions = np.where(rng.random((count, 16)) < 0.4, rng.choice([0, 0x7FFFFF, 0x400000, 0x3FFFFF], (count, 16)), 0)
    codes = (
        rng.integers(0, 2, (count, 16)) << 31 | exponents << 23 | (fractions ^ rng.integers(0, 1 << 23, (count, 16)))
    )
    codes = np.where(
        rng.random((count, 16)) < 0.003, rng.choice([0x7F800000, 0xFFC00000, 0x7FFFFFFF], codes.shape), codes
    )
    codes[::9] &= 0x807FFFFF
    codes[::8] = (codes[::8] & 0xFF800000) | rng.choice(
        [0x7FFFFF, 0x7E0000, 0x780000, 0x700000, 0x7C0000], codes[::8].shape
    )
    return codes.astype(np.uint32)


@counts
@pytest.mark.parametrize("name", BLOCK_FORMATS)
@pytest.mark.parametrize("preset", PRESETS)
def test_to_mx_and_back(c_reference, preset, name, count):
    rng, numerics, compared = np.random.default_rng(5), PRESETS[preset].numerics, 0
    for code in RoundingCode:
        x = np.ascontiguousarray(fp32_blocks(rng, max(count // 16, 64))[:, : BLOCK_FORMATS[name].elements])
        expected = aie.to_mx(x.view(np.float32), name, rounding=code, numerics=numerics)
        reference = c_reference("aie_ml_v2", preset)
        places = padded(x)
        head, codes = reference.array_form(
            "to_mx", places, C[name.upper()], code, np.zeros((len(x), 2)), np.zeros(places.shape)
        )
        assert np.array_equal(head, head_and_codes(expected)[0])
        assert np.array_equal(codes, head_and_codes(expected)[1])
        given = blocks(rng, BLOCK_FORMATS[name], len(x))
        for mx in (expected, given):
            got = reference.array_form("from_mx", C[name.upper()], *head_and_codes(mx), np.zeros(places.shape))
            values = aie.from_mx(mx, numerics=numerics).view(np.uint32).reshape(x.shape)
            assert np.array_equal(got, padded(values))
            compared += got.size
    assert compared > 10 * count


@counts
@pytest.mark.parametrize("fmt", [BF16, FP16, *FLOAT8_FORMATS], ids=lambda each: each.name)
def test_narrow(reference, fmt, count):
    rng = np.random.default_rng(6)
    anywhere = rng.integers(0, 1 << 32, count).astype(np.uint32)
    # Around the format's range, at ties and beside them.
    exponents = np.clip(fmt.emin - 4 + rng.integers(0, fmt.emax - fmt.emin + 7, count) + FP32.bias, 0, 254)
    tie = 1 << FP32.fraction_bits - fmt.fraction_bits - 1
    fractions = (rng.integers(0, 1 << 23, count) & -tie) + rng.integers(-1, 2, count) & FP32.fraction_mask
    near = (rng.integers(0, 2, count) << 31 | exponents << 23 | fractions).astype(np.uint32)
    bits = np.concatenate([anywhere, near, np.array(FP32_CORNERS, np.uint32)])
    for code, saturate in product(RoundingCode, range(4)):
        shifts = [0] if fmt in (BF16, FP16) else [0, *rng.integers(-32, 32, 2).tolist()]
        for shift in shifts:
            if fmt in (BF16, FP16):
                call = aie.f32_to_bf16 if fmt is BF16 else aie.f32_to_fp16
                expected = call(bits, rounding=code, saturate=saturate)
            else:
                expected = aie.f32_to_fp8(bits, DTYPES[fmt], rounding=code, saturate=saturate, shift=shift)
            assert np.array_equal(reference.array_form("narrow", bits, C[fmt.name], code, saturate, shift), expected)


@pytest.mark.parametrize("fmt", [BF16, FP16, *FLOAT8_FORMATS], ids=lambda each: each.name)
def test_widen_every_code(reference, fmt):
    codes = np.arange(1 << fmt.width, dtype=f"u{DTYPES[fmt].itemsize}")
    if fmt in FLOAT8_FORMATS:
        expected = aie.fp8_to_f32(codes.view(DTYPES[fmt])).view(np.uint32)
    else:
        expected = aie.bf16_to_f32(codes) if fmt is BF16 else aie.fp16_to_f32(codes)
    assert np.array_equal(reference.array_form("widen", codes, C[fmt.name]), expected)


def test_every_bf16_code_to_integers(reference):
    codes = np.arange(1 << 16, dtype=np.uint16)
    for shift in range(-32, 32, 3):
        assert np.array_equal(reference.array_form("bf16_to_int32", codes, shift), aie.bf16_to_int32(codes, shift))


@counts
@pytest.mark.parametrize(("acc_bits", "bits"), [(acc, bits) for acc, widths in SRS_MODES.items() for bits in widths])
def test_srs_and_ups(reference, acc_bits, bits, count):
    rng, few = np.random.default_rng(7), max(count // 64, 64)
    limit = 1 << acc_bits - 1
    acc = rng.integers(-limit, limit - 1, few, endpoint=True) >> rng.integers(0, acc_bits, few)
    acc[:8] = [0, 1, -1, limit - 1, -limit, -limit + 1, limit // 2, -limit // 2]
    ties = (rng.integers(-200, 200, few) << 4) + 8
    for shift, code, saturation, signed in product(
        [*range(-4, 64, 1 if count == MANY else 5), 4, 63], RoundingCode, Saturation, (False, True)
    ):
        options = {"rounding": code, "saturate": saturation, "signed": signed}
        for values in (acc, ties):
            expected = aie.srs(values, shift, acc_bits=acc_bits, out_bits=bits, **options)
            assert np.array_equal(reference.array_form("srs", values, shift, bits, code, saturation, signed), expected)
    limit = 1 << max(UPS_MODES[acc_bits]) - 1
    x = rng.integers(-limit, limit, few)
    for shift, saturation in product(range(64), Saturation):
        expected = aie.ups(x, shift, acc_bits=acc_bits, saturate=saturation)
        assert np.array_equal(reference.array_form("ups", x, shift, acc_bits, saturation), expected)


@pytest.mark.parametrize("fmt", [*BLOCK_FORMATS, *FLOAT_FORMATS])
@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 1), (5, 70, 35)])
def test_matmul(c_reference, fmt, m, k, n):
    reference = c_reference("aie_ml_v2", XDNA2_BFP16EBS8.name if fmt == BFP16EBS8.name else None)
    rng = np.random.default_rng(k)
    wide = [rng.standard_normal(shape) * np.exp2(rng.integers(-9, 9, shape)) for shape in ((m, k), (k, n))]
    a, b = (each.astype(np.float32) for each in wide)
    # The row before must not read the infinity as its own place behind K.
    a[m // 2, 0], b[-1, 0] = np.inf, 1e-42
    name, number = (
        ("mx_matmul", C[fmt.upper()]) if fmt in BLOCK_FORMATS else ("float_matmul", C[FLOAT_FORMATS[fmt].name])
    )
    for code in (RoundingCode.CONV_EVEN, RoundingCode.FLOOR):
        expected = aie.matmul(a, b, format=fmt, rounding=code)
        got = reference.matmul(name, a.view(np.uint32), b.view(np.uint32), number, code)
        assert np.array_equal(got, expected.view(np.uint32))


@pytest.mark.parametrize("mode", INTEGER_MODES)
def test_integer_matmul(reference, mode):
    rng, row = np.random.default_rng(8), INTEGER_MODES[mode]
    a = rng.integers(-1 << row.a_bits - 1, 1 << row.a_bits - 1, (5, 300)).astype(np.int32)
    b = rng.integers(-1 << row.b_bits - 1, 1 << row.b_bits - 1, (300, 9)).astype(np.int32)
    got = reference.matmul("integer_matmul", a, b, row.lane_bits)
    assert np.array_equal(got, aie.matmul(a, b, format=mode))


def test_known_answers_of_silicon(kat, reference):
    archive = kat("aie_silicon.npz")
    for code in RoundingCode:
        got = reference.array_form("narrow", archive["f32_bits"], C["BF16"], code, 0, 0)
        assert np.array_equal(got, archive[f"bf16_bits_rnd{code.value}"])
    a = archive["mac_a"].view(ml_dtypes.bfloat16).view(np.uint16).reshape(-1, 4, 1, 8)
    b = archive["mac_b"].view(np.uint16).reshape(-1, 8, 4).swapaxes(1, 2)[:, np.newaxis]
    a, b = (each.reshape(-1, 8) for each in np.broadcast_arrays(a, b))
    got = reference.array_form("float_dot", a, C["BF16"], b, C["BF16"], 8, 0, 0, 0)
    expected = archive["mac_out"].reshape(-1)
    nan = (got & 0x7FFFFFFF > 0x7F800000) & (expected & 0x7FFFFFFF > 0x7F800000)
    assert got.size == expected.size > 0
    assert np.all((got == expected) | nan)


@pytest.mark.parametrize("name", MX_FORMATS)
def test_known_answers_of_blocks(kat, reference, name):
    archive = kat("aie_mx_blocks.npz")
    finite = archive["finite_block"]
    bits = archive["x_bits"][finite]
    head, codes = reference.array_form(
        "to_mx", bits, C[name.upper()], RoundingCode.CONV_EVEN, np.zeros((len(bits), 2)), np.zeros(bits.shape)
    )
    assert np.array_equal(codes, archive[f"{name}_codes"][finite])
    assert np.array_equal(head[:, 0].astype(int) - 127, archive[f"{name}_block_exp"][finite])
    assert np.array_equal(head[:, 1], archive[f"{name}_shift_bits"][finite])


def test_known_answers_of_xdna2(c_reference, kat):
    """Every block and every product of bfp16ebs8 that silicon is known to give."""
    reference, fmt = c_reference("aie_ml_v2", XDNA2_BFP16EBS8.name), C["BFP16EBS8"]
    archive = kat("silicon_xdna2_convert.npz")
    for code in RoundingCode:
        chosen = archive["mode"] == code
        bits = padded(archive["x_bits"][chosen])
        head, codes = reference.array_form("to_mx", bits, fmt, code, np.zeros((len(bits), 2)), np.zeros(bits.shape))
        assert np.array_equal(head, np.stack([archive["exponent"][chosen], np.zeros(len(bits))], axis=1))
        assert np.array_equal(codes, padded(archive["codes"][chosen]))
    archive = kat("silicon_xdna2_mmul.npz")
    for name in SETS:
        a, b, expected = operands(archive, name)
        got, zeros = np.zeros(expected.size, np.uint32), np.zeros(expected.size, np.uint32)
        for step in range(len(a.exponent)):
            lanes = [head_and_codes(every_lane(side[step], expected.shape)) for side in (a, b)]
            got = reference.array_form("mx_dot", fmt, *lanes[0], *lanes[1], got, zeros, 0 if step else C["ZERO_ACC1"])
        assert np.array_equal(got.reshape(expected.shape), expected)
