"""The C reference against golden, bit for bit: random operands, corners of every format, and all presets."""

import re
from itertools import product
from random import Random

import numpy as np
import pytest

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES, codes_of, decode_array, encode_array
from bitpath.golden.c.constants import TRAINIUM3_FORMATS, enumerations
from bitpath.golden.c.export import export
from bitpath.golden.c.prototypes import functions
from bitpath.golden.formats.catalogue import BF16, E2M1, E4M3, E4M3FN, E5M2, FP16, FP32, MX_FORMATS, TF32, Rounding
from bitpath.golden.scalar.codec import Overflow
from bitpath.golden.trainium3.declarations.quad_mx import PRESETS, TRAINIUM3_QUAD_MX
from bitpath.golden.trainium3.declarations.vector import TRAINIUM2_BF16_PRODUCTS, TRAINIUM3_MATMUL
from bitpath.golden.trainium3.matmul.array import chain_rows
from bitpath.golden.trainium3.matmul.instruction import psum_write
from bitpath.verif.common.dot.directed_corners import BOUNDARIES, REPORTED
from bitpath.verif.kit.c_library import counts
from bitpath.verif.kit.known_answers import skip_absent
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.dot.quad_mx import case_columns

C = {name.removeprefix("BITPATH_TRAINIUM3_"): number for name, number in enumerations("trainium3").items()}
FP32_CORNERS = [
    0,
    1 << 31,
    1,
    0x80000001,
    0x7FFFFF,
    0x800000,
    0x7F7FFFFF,
    0xFF7FFFFF,
    0x7F800000,
    0xFF800000,
    0x7FC00000,
]
FP32_CORNERS += [0x7F800001, 0xFFC00001, 0x3F800000, 0xBF800000, 0x34000000, 0x33FFFFFF, 0x477FEFFF, 0x477FF000]


@pytest.fixture
def reference(c_reference):
    return c_reference("trainium3")


def corners(fmt):
    """Codes beside zero, the smallest normal number, one, the largest number and the specials, with both signs."""
    one, normal = fmt.bias << fmt.fraction_bits, 1 << fmt.fraction_bits
    near = [0, 1, 2, normal - 1, normal, normal + 1, one - 1, one, one + 1, fmt.max_code - 1, fmt.max_code]
    near += [fmt.max_code + 1, fmt.max_code + 2, fmt.sign_mask - 1]
    return [code | sign for code in near if code < fmt.sign_mask for sign in (0, fmt.sign_mask)]


def some(rng, fmt, shape):
    """Return codes, half of them random and half of them corners."""
    codes = rng.integers(0, 1 << fmt.width, shape)
    return np.where(rng.random(shape) < 0.5, codes, rng.choice(corners(fmt), shape))


def partials(rng, shape):
    return np.where(rng.random(shape) < 0.6, rng.integers(0, 1 << 32, shape), rng.choice(FP32_CORNERS, shape))


def grid(x, y):
    """Return the rows of two operands in all pairs."""
    return np.repeat(x, len(y), axis=0), np.tile(y, (len(x), *(1,) * (y.ndim - 1)))


def test_package_imports_the_functions_without_pointers():
    texts = export("trainium3", next(iter(PRESETS)))
    declared = functions(texts["bitpath_trainium3.h"])
    imported = re.findall(r"^  import .* (\w+)\($", texts["bitpath_trainium3_dpi.sv"], re.MULTILINE)
    assert imported == [each.name for each in declared if not each.name.endswith("_n") and not each.has_pointers]


STEPS = [
    (preset, pair)
    for preset, pair in product(PRESETS, product((E4M3FN, E5M2), repeat=2))
    if set(pair) <= set(PRESETS[preset].numerics.element_formats)
]


@counts
@pytest.mark.parametrize(("preset", "pair"), STEPS)
def test_dot_step(c_reference, preset, pair, count):
    rng, side = np.random.default_rng(count), int(count**0.5)
    for near in (True, False):
        sides = []
        for fmt in pair:
            codes = (
                rng.integers(0, 120, (side, 4)) | rng.choice([0, 128], (side, 4)) if near else some(rng, fmt, (side, 4))
            )
            scales = rng.integers(120, 135, side) if near else rng.choice([0, 1, 127, 200, 254, 255], side)
            sides.append((codes.astype(np.uint8), fmt, scales.astype(np.uint8)))
        (x, x_format, x_scale), (y, y_format, y_scale) = sides
        start = partials(rng, (side, side)).astype(np.uint32)
        if near:  # within reach of the products
            start = start & 0x80FFFFFF | rng.integers(100, 140, start.shape).astype(np.uint32) << 23
        expected = chain_rows(
            PRESETS[preset].numerics, x[None], x_format, x_scale[None], y[None], y_format, y_scale[None], start
        )
        (a, b), (a_scale, b_scale) = grid(x, y), grid(x_scale, y_scale)
        formats = C[x_format.name], C[y_format.name]
        got = c_reference("trainium3", preset).array_form(
            "dot_step", a, formats[0], b, formats[1], a_scale, b_scale, start.reshape(-1)
        )
        assert np.array_equal(got, expected.reshape(-1))


def test_all_pairs_of_elements(reference):
    """Under scales that keep the product, underflow, overflow, and are NaN."""
    codes = np.zeros((256, 4), np.uint8)
    codes[:, 0] = np.arange(256)
    ones, (a, b) = np.ones((1, 256), np.uint8), grid(codes, codes)
    for x_format, y_format in product((E4M3FN, E5M2), repeat=2):
        for x_scale, y_scale in ((127, 127), (0, 1), (254, 253), (255, 127)):
            sides = (codes[None], x_format, ones * x_scale), (codes[None], y_format, ones * y_scale)
            expected = chain_rows(TRAINIUM3_QUAD_MX.numerics, *sides[0], *sides[1])
            formats = C[x_format.name], C[y_format.name]
            got = reference.array_form("dot_step", a, formats[0], b, formats[1], x_scale, y_scale, 0)
            assert np.array_equal(got, expected.reshape(-1))


@covers("quad_mx_dot.boundary")
def test_sums_at_boundaries(reference):
    """The bench's corners of every boundary, the reported one first."""
    numerics = TRAINIUM3_QUAD_MX.numerics
    cases = [corner.case for maker in BOUNDARIES for corner in maker(numerics, Random(1))]
    assert cases[0] == REPORTED
    for x_format, y_format, chosen, (x, x_scale, y, y_scale, partial) in case_columns(cases):
        formats = C[x_format.name], C[y_format.name]
        got = reference.array_form("dot_step", x, formats[0], y, formats[1], x_scale, y_scale, partial)
        assert got.tolist() == [cases[index].trace(numerics).result for index in chosen]
        assert cases[chosen[0]] != REPORTED or got[0] == 0x00000001


def test_fp4_is_mapped_to_fp8(reference):
    codes = np.arange(16, dtype=np.uint8)
    mapped = encode_array(E4M3FN, decode_array(E2M1, codes)).astype(np.uint8)
    got = reference.array_form("convert", codes, C["E2M1"], C["E4M3FN"], 0)
    assert np.array_equal(got, mapped)
    x, y = grid(np.stack([codes] * 4, axis=1), np.stack([codes[::-1]] * 4, axis=1))
    results = [
        reference.array_form("dot_step", table[x], fmt, table[y], fmt, 120, 130, 0)
        for table, fmt in ((codes, C["E2M1"]), (mapped, C["E4M3FN"]))
    ]
    assert np.array_equal(*results)


MATMUL_PAIRS = [
    (x, y)
    for x, y in product((*(each for each in TRAINIUM3_FORMATS if each not in (E2M1, FP32, TF32)), FP32, TF32), repeat=2)
    if (x in (FP32, TF32)) == (y in (FP32, TF32)) and {x, y} != {E4M3, E4M3FN}
]


@counts
@pytest.mark.parametrize(
    ("preset", "pair"),
    [
        pytest.param(preset, pair, id=f"{preset.name}-{pair[0].name}_{pair[1].name}")
        for preset in (TRAINIUM3_MATMUL, TRAINIUM2_BF16_PRODUCTS)
        for pair in MATMUL_PAIRS
        if set(pair) <= {*preset.numerics.narrow_formats, *preset.numerics.wide_formats}
    ],
)
def test_multiply_add(c_reference, preset, pair, count):
    numerics = preset.numerics
    reference = c_reference("trainium3", None if preset is TRAINIUM3_MATMUL else preset.name)
    rng, side, rows = np.random.default_rng(1), int((count / 8) ** 0.5), 8
    operands = [some(rng, fmt, (rows, side)) for fmt in pair]
    arrays = [
        codes.astype(f"u{DTYPES[fmt].itemsize}").view(DTYPES[fmt])
        if fmt is not TF32
        else (codes << 13).astype(np.uint32).view(np.float32)
        for codes, fmt in zip(operands, pair, strict=True)
    ]
    tf32 = {name: fmt is TF32 for name, fmt in zip(("stationary_tf32", "moving_tf32"), pair, strict=True)}
    expected = trainium3.nc_matmul(arrays[0][:, :128], arrays[1], numerics=numerics, **tf32).view(np.uint32)
    partial = np.zeros(expected.size, np.uint32)
    for x, y in zip(operands[0][:, :128], operands[1], strict=True):
        a, b = grid(x, y)
        partial = reference.array_form("multiply_add", a, C[pair[0].name], b, C[pair[1].name], partial)
    assert np.array_equal(partial, expected.reshape(-1))


@counts
def test_psum_write(reference, count):
    rng = np.random.default_rng(2)
    incoming = partials(rng, (4, count)).astype(np.uint32)
    random_bits = rng.integers(0, 1 << 16, incoming.shape).astype(np.uint16)
    present = partials(rng, incoming.shape).astype(np.uint32)
    near = incoming ^ 1 << 31 ^ rng.integers(0, 4, incoming.shape).astype(np.uint32)
    present = np.where(rng.random(incoming.shape) < 0.3, near, present).astype(np.uint32)
    for bf16, accumulate, rounding in product((False, True), (False, True), (Rounding.RNE, Rounding.SR)):
        if rounding is Rounding.SR and not bf16:
            continue
        old = (present >> 16).astype(np.uint16).view(DTYPES[BF16]) if bf16 else present.view(np.float32)
        expected = psum_write(incoming, old if accumulate else None, old.dtype, rounding, random_bits)
        got = reference.array_form(
            "psum_write",
            *(incoming.reshape(-1), codes_of(old).reshape(-1), accumulate, bf16),
            *(rounding is Rounding.SR, random_bits.reshape(-1)),
        )
        assert np.array_equal(got, codes_of(expected).reshape(-1))


def test_xorwow_and_the_bits_of_columns(reference):
    state = np.random.default_rng(3).integers(0, 1 << 32, (16, 4, 6)).astype(np.uint32)
    source, states, writes = trainium3.Xorwow(state), state.reshape(-1, 6), 40
    expected = trainium3.psum_random_bits(source, 128, writes)
    for write in range(writes):
        numbers, states = reference.array_form("xorwow", states)
        words = numbers.reshape(16, 4).repeat(8, axis=0)
        assert np.array_equal(reference.array_form("column_bits", words, np.arange(128)), expected[:, write])
    assert np.array_equal(states.reshape(16, 4, 6), source.state)


@counts
@pytest.mark.parametrize("rule", ["ocp", "nki05"])
@pytest.mark.parametrize("element", [E4M3FN, E5M2, E2M1], ids=lambda each: each.name)
@pytest.mark.parametrize("source", [BF16, FP16, FP32], ids=lambda each: each.name)
def test_quantize_block(reference, source, element, rule, count):
    rng, columns = np.random.default_rng(4), max(count // 128, 32)
    blocks = rng.integers(0, 1 << source.exponent_bits, (16, 1, columns // 4, 1))
    fields = np.clip(blocks - rng.integers(0, 20, (16, 8, columns // 4, 4)), 0, source.exponent_mask)
    codes = fields << source.fraction_bits | rng.integers(0, 1 << source.fraction_bits, fields.shape)
    codes |= rng.choice([0, source.sign_mask], fields.shape)
    codes = np.where(rng.random(fields.shape) < 0.02, rng.choice(corners(source), fields.shape), codes)
    codes[:, :, ::5] = rng.choice([0, 1, source.sign_mask, source.sign_mask | 3], codes[:, :, ::5].shape)
    if source is FP32 and element is E2M1:  # a host's source, whose NaN is an error
        codes = np.where(codes & source.sign_mask - 1 > source.infinity_code, 0, codes)
    tile = codes.reshape(128, columns).astype(f"u{DTYPES[source].itemsize}").view(DTYPES[source])
    quantize = trainium3.quantize_offline if source is FP32 else trainium3.quantize_mx
    data, scale = quantize(tile, DTYPES[element], scale_rule=rule)
    got_scale, elements = reference.array_form(
        "quantize_block",
        *(codes.transpose(0, 2, 1, 3).reshape(-1, 32), C[source.name], C[element.name], C[rule.upper()]),
        np.zeros((16 * columns // 4, 32)),
    )
    assert np.array_equal(got_scale, scale.reshape(-1))
    assert np.array_equal(elements, codes_of(data).reshape(16, 8, -1, 4).transpose(0, 2, 1, 3).reshape(-1, 32))


@counts
@pytest.mark.parametrize("fmt", TRAINIUM3_FORMATS, ids=lambda each: each.name)
def test_conversions(reference, fmt, count):
    rng = np.random.default_rng(5)
    every = np.arange(1 << fmt.width) if fmt.width <= 19 else some(rng, fmt, count)
    assert np.array_equal(
        reference.array_form("convert", every, C[fmt.name], C["FP32"], 0), encode_array(FP32, decode_array(fmt, every))
    )
    codes = partials(rng, count)
    exact = rng.integers(-3, 3, count) + (encode_array(FP32, decode_array(fmt, rng.integers(0, 1 << fmt.width, count))))
    ties = exact + (1 << 23 - min(fmt.fraction_bits, 22) - 1)
    for near in (codes, np.clip(exact, 0, (1 << 32) - 1), ties & 0xFFFFFFFF):
        # E2M1 has no NaN, and can only saturate in golden.
        wide = near[~np.isnan(decode_array(FP32, near))] if fmt is E2M1 else near
        values = decode_array(FP32, wide)
        for overflow in (Overflow.SATURATE, *((Overflow.SPECIAL,) if fmt is not E2M1 else ())):
            got = reference.array_form("convert", wide, C["FP32"], C[fmt.name], overflow is Overflow.SATURATE)
            assert np.array_equal(got, encode_array(fmt, values, overflow=overflow))


def test_nan_becomes_the_largest_e2m1(reference):
    assert reference.array_form("convert", np.array([0x7FC00000, 0xFF800001]), C["FP32"], C["E2M1"], 0).tolist() == [
        7,
        7,
    ]


def matrices(rng, m, k, n):
    wide = [rng.standard_normal(shape) * np.exp2(rng.integers(-20, 20, shape)) for shape in ((m, k), (k, n))]
    a, b = (each.astype(np.float32) for each in wide)
    a[0, 0], b[0, -1], a[-1, -1] = -0.0, 3e38, 1e-42
    return a, b


@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 1), (3, 130, 20), (5, 1100, 33)])
def test_matmul(reference, m, k, n):
    a, b = matrices(np.random.default_rng(m), m, k, n)
    for (left, right), rule, order in zip(
        product(MX_FORMATS, repeat=2),
        ["ocp", "nki05", "ocp"] * 3,
        ["interleaved", "adjacent"] * 4 + ["interleaved"],
        strict=True,
    ):
        expected = trainium3.matmul(a, b, a_format=left, b_format=right, scale_rule=rule, k_order=order)
        formats = [C[MX_FORMATS[name].element.name] for name in (left, right)]
        got = reference.matmul(
            "matmul", a.view(np.uint32), b.view(np.uint32), *formats, C[rule.upper()], order == "adjacent"
        )
        assert np.array_equal(got, expected.view(np.uint32))


def test_known_answers_of_quantize_mx(kat, reference):
    archive, compared = kat("trn_quantize_mx.npz"), 0
    names = {"bf16": "BF16", "fp16": "FP16", "e4m3fn": "E4M3FN", "e5m2": "E5M2"}
    for case in archive["meta"]:
        key, shape = f"c{case['id']:03d}", (case["P"] // 8, 8, case["F"] // 4, 4)
        blocks = archive[f"{key}_src_bits"].reshape(shape).transpose(0, 2, 1, 3).reshape(-1, 32)
        for name, rule in (("floor", "OCP"), ("x2", "NKI05")):
            if f"{key}_own_{name}_code" not in archive:
                continue
            scale, data = reference.array_form(
                "quantize_block", blocks, C[names[case["src"]]], C[names[case["dst"]]], C[rule], np.zeros(blocks.shape)
            )
            assert np.array_equal(scale, archive[f"{key}_own_{name}_code"].reshape(-1))
            expected = archive[f"{key}_own_{name}_data"].reshape(shape).transpose(0, 2, 1, 3).reshape(-1, 32)
            assert np.array_equal(data, expected)
            compared += data.size
    skip_absent("trn_quantize_mx.npz", {"QuantizeMX": compared})
