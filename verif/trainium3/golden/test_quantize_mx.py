"""quantize_mx and dequantize, and the layouts that they give: x4 words, scales in quadrants, K on partitions."""

import re
from functools import partial

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.arrays.codec import DTYPES, codes_of, decode_array
from bitpath.golden.formats.catalogue import BF16, E2M1, E4M3FN, E5M2, FP16, FP32, FloatFormat
from bitpath.golden.trainium3 import (
    dequantize,
    from_partitions,
    gather_scale,
    pack_x4,
    quantize_mx,
    quantize_offline,
    scatter_scale,
    to_partitions,
    unpack_x4,
)
from bitpath.golden.trainium3.declarations.quad_mx import ScaleRule
from bitpath.golden.trainium3.exact.conversions import quantize_block
from bitpath.verif.common.boundary_codes import crossing

# x4 words, the quadrant layout of scales and K on partitions, by hand.


E4, E5, FP4 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float4_e2m1fn


@pytest.mark.parametrize("dtype", [E4, E5, FP4])
def test_pack_element_0_lowest(dtype):
    codes = [[0x11, 0x22, 0x33, 0x44, 0xFF, 0x00, 0x00, 0x80]]
    word, expected = np.uint32, [[0x44332211, 0x800000FF]]
    if dtype == FP4:
        codes, word, expected = [[1, 2, 3, 4, 15, 0, 0, 8]], np.uint16, [[0x4321, 0x800F]]
    words = pack_x4(np.array(codes, np.uint8).view(dtype))
    assert words.dtype == word
    assert words.tolist() == expected
    assert codes_of(unpack_x4(words, dtype)).tolist() == codes


def test_quadrant_layout():
    scale = np.arange(1, 33, dtype=np.uint8).reshape(16, 2)
    for offset in (0, 4, 8, 12):
        tile = scatter_scale(scale, offset)
        assert tile.shape == (128, 2)
        rows = [32 * quadrant + offset + row for quadrant in range(4) for row in range(4)]
        assert tile[rows].tolist() == scale.tolist()
        assert np.delete(tile, rows, axis=0).max() == 0
        assert np.array_equal(gather_scale(tile, offset), scale)
    assert scatter_scale(scale[:4]).shape == (32, 2)


def test_gather_ignores_other_rows():
    tile = np.full((64, 3), 0xAA, np.uint8)
    tile[[4, 5, 6, 7, 36, 37, 38, 39]] = np.arange(8, dtype=np.uint8)[:, np.newaxis]
    assert gather_scale(tile, 4).tolist() == [[g] * 3 for g in range(8)]


def test_k_on_partitions():
    x = np.arange(128 * 2).reshape(128, 2)
    interleaved = to_partitions(x, "interleaved")
    adjacent = to_partitions(x, "adjacent")
    assert interleaved.shape == adjacent.shape == (32, 2, 4)
    for p, f, i in ((0, 0, 0), (0, 0, 1), (1, 0, 0), (31, 1, 3), (5, 1, 2)):
        assert interleaved[p, f, i] == x[i * 32 + p, f]
        assert adjacent[p, f, i] == x[4 * p + i, f]
    assert np.array_equal(from_partitions(interleaved, "interleaved"), x)
    assert np.array_equal(from_partitions(adjacent, "adjacent"), x)


def test_scale_groups_in_k():
    """Interleaved: four runs of 8, P apart. Adjacent: OCP's 32 consecutive elements (DeepWok/mase#321)."""
    for order, members in (
        ("interleaved", [i * 32 + 8 + r for i in range(4) for r in range(8)]),
        ("adjacent", range(32, 64)),
    ):
        for k in range(128):
            column = np.ones((128, 1), np.float32)
            column[k] = 256
            tile = to_partitions(column, order).reshape(32, 4).astype(ml_dtypes.bfloat16)
            _, scale = quantize_mx(tile, E4)
            assert (scale[1, 0] == 127) == (k in members)
            assert (scale == 127).sum() == 1


def zeros(*shape, dtype=E4):
    return np.zeros(shape, dtype)


SPAN = "must span 32, 64, 96 or 128 partitions, not"
WRONG_TYPES = [
    (pack_x4, zeros(1, 4, dtype=np.uint8), "data must be float8_e4m3fn, float8_e5m2 or float4_e2m1fn, not uint8"),
    (partial(unpack_x4, dtype=E4), zeros(1, 1, dtype=np.uint16), "words must be uint32, not uint16"),
    (partial(unpack_x4, dtype=FP4), zeros(1, 1, dtype=np.uint32), "words must be uint16, not uint32"),
    (scatter_scale, zeros(4, 1, dtype=float), "scale must be uint8, not float64"),
]
WRONG_VALUES = [
    (pack_x4, zeros(1, 6), "data must have a multiple of 4 columns, not 6"),
    (pack_x4, zeros(4), "data must have shape [P, F], not (4,)"),
    (scatter_scale, zeros(5, 1, dtype=np.uint8), f"scale {SPAN} 40"),
    (partial(scatter_scale, offset=2), zeros(4, 1, dtype=np.uint8), "offset must be 0, 4, 8 or 12, not 2"),
    (gather_scale, zeros(16, 1, dtype=np.uint8), f"tile {SPAN} 16"),
    (partial(gather_scale, offset=16), zeros(32, 1, dtype=np.uint8), "offset must be 0, 4, 8 or 12, not 16"),
    (to_partitions, zeros(126, 1), "x must have a multiple of 128 rows up to 512, not 126"),
    (to_partitions, zeros(64, 1), f"x {SPAN} 16"),
    (partial(to_partitions, k_order="k"), zeros(128, 1), "k_order must be 'interleaved' or 'adjacent', not 'k'"),
    (from_partitions, zeros(32, 1, 3), "tile must have shape [P, F, 4], not (32, 1, 3)"),
]


@pytest.mark.parametrize(
    ("error", "function", "array", "sentence"),
    [*((TypeError, *row) for row in WRONG_TYPES), *((ValueError, *row) for row in WRONG_VALUES)],
)
def test_errors_of_layout(error, function, array, sentence):
    with pytest.raises(error, match=f"^{re.escape(sentence)}"):
        function(array)


def test_words_and_scales_have_two_axes():
    with pytest.raises(ValueError, match=r"^words must have shape \[P, F\], not \(4,\)$"):
        unpack_x4(np.zeros(4, np.uint32), E4)
    with pytest.raises(ValueError, match=r"^tile must have shape \[P, F\], not \(32,\)$"):
        gather_scale(np.zeros(32, np.uint8))


# quantize_mx and dequantize: blocks by hand, and all of BF16 and FP16 against the scalar tier.


E4_QUANTIZE_MX, E5_QUANTIZE_MX, FP4_QUANTIZE_MX = DTYPES[E4M3FN], DTYPES[E5M2], DTYPES[E2M1]


def tile(*blocks, dtype=ml_dtypes.bfloat16):
    """One row of 4-column blocks in a [32, 4 * len] tile: values go to the block's first elements, the rest is 0."""
    out = np.zeros((32, 4 * len(blocks)), np.float32)
    for f, block in enumerate(blocks):
        cells = np.zeros(32, np.float32)
        cells[: len(block)] = block
        out[:8, 4 * f : 4 * f + 4] = cells.reshape(8, 4)
    return out.astype(dtype)


def first_block(data):
    return codes_of(data)[:8, :4].ravel().tolist()


def scalar_tile(source: FloatFormat, codes: np.ndarray, element: FloatFormat, rule: ScaleRule):
    """Quantise a [P, F] tile block by block."""
    data, scale = np.zeros(codes.shape, np.uint8), np.zeros((codes.shape[0] // 8, codes.shape[1] // 4), np.uint8)
    for g, f in np.ndindex(scale.shape):
        block = slice(8 * g, 8 * g + 8), slice(4 * f, 4 * f + 4)
        elements, scale[g, f] = quantize_block(codes[block].ravel().tolist(), source, element, rule)
        data[block] = np.reshape(elements, (8, 4))
    return data, scale


def test_block_by_hand():
    # amax 3 = 1.5 * 2**1: OCP scale 2**(1 - 8), code 120; 3 / 2**-7 = 384 = 0x7C, 1 -> 128 = 0x70.
    data, scale = quantize_mx(tile([3, 1, -1, 0, -0.0]), E4_QUANTIZE_MX)
    assert scale[0, 0] == 120
    assert first_block(data)[:5] == [0x7C, 0x70, 0xF0, 0x00, 0x80]
    # NKI05: the scale is twice as large.
    data, scale = quantize_mx(tile([3, 1, -1]), E4_QUANTIZE_MX, scale_rule="nki05")
    assert scale[0, 0] == 121
    assert first_block(data)[:3] == [0x74, 0x68, 0xE8]
    data, scale = quantize_mx(tile([3, 1]), E5_QUANTIZE_MX)
    assert scale[0, 0] == 127 + 1 - 15
    assert first_block(data)[:2] == [0x7A, 0x74]


def test_stored_scale_is_the_one_that_divides():
    """huggingface/transformers#46763: a scale rounded after its use gave errors of 2x. This scale is clamped at 0."""
    tiny = 2.0**-126  # biased exponent 1, far below emax
    for dtype, code in ((E4_QUANTIZE_MX, 0x40), (E5_QUANTIZE_MX, 0x40)):
        data, scale = quantize_mx(tile([tiny, tiny / 2]), dtype)
        assert scale[0, 0] == 0
        assert first_block(data)[0] == code  # 2**-126 / 2**-127 = 2
        assert dequantize(data, scale)[0, 0] == tiny
        assert dequantize(data, scale)[0, 1] == tiny / 2
    # Underflow is gradual: 2**-133 / 2**-127 = 2**-6.
    data, scale = quantize_mx(tile([2.0**-133]), E4_QUANTIZE_MX)
    assert (scale[0, 0], first_block(data)[0]) == (0, 0x08)


@pytest.mark.parametrize("rule", ["ocp", "nki05"])
def test_zero_block(rule):
    data, scale = quantize_mx(tile([0, -0.0]), E4_QUANTIZE_MX, scale_rule=rule)
    assert scale[0, 0] == 0
    assert first_block(data)[:2] == [0x00, 0x80]


def test_ties_and_just_above_the_maximum():
    """pytorch/ao#436 reported an overflow after rounding. The scaled block maximum lies in [256, 512) for E4M3."""
    values = [1.75, 1.8125, 1.8203125, 1.984375]  # times 256: 448, 464 (tie), 466, 508
    data, scale = quantize_mx(tile(values), E4_QUANTIZE_MX)
    assert scale[0, 0] == 119
    assert first_block(data)[:4] == [0x7E, 0x7E, 0x7E, 0x7E]
    data, scale = quantize_mx(tile([1.75, 1.875, 1.9921875]), E5_QUANTIZE_MX)  # 57344, 61440 (tie), 65280
    assert first_block(data)[:3] == [0x7B, 0x7B, 0x7B]
    # NKI05 leaves the room to round up.
    data, scale = quantize_mx(tile([1.9921875, 1.9375, 1.8125]), E4_QUANTIZE_MX, scale_rule="nki05")
    assert scale[0, 0] == 120
    assert first_block(data)[:3] == [0x78, 0x78, 0x76]  # 255 -> 256, 248 (tie) -> 256, 232 (tie) -> 224


def test_mxfp4_rounding():
    """ROCm/aiter#974: 0.625 / 0.5 became 1.5. The maximum 1.5 makes the scale 2**-2."""
    data, scale = quantize_offline(tile([1.5, 0.3125, 0.4375, 0.0625, 0.1875]), FP4_QUANTIZE_MX)
    assert scale[0, 0] == 125
    assert first_block(data)[:5] == [7, 2, 4, 0, 2]  # 6, 1.25 -> 1, 1.75 -> 2, 0.25 -> 0, 0.75 -> 1
    same, same_scale = quantize_offline(
        tile([1.5, 0.3125, 0.4375, 0.0625, 0.1875]), FP4_QUANTIZE_MX, scale_rule="nki05"
    )
    assert np.array_equal(codes_of(same), codes_of(data))
    assert np.array_equal(same_scale, scale)
    data, _ = quantize_offline(tile([1.75, 1.25, -1.25]), FP4_QUANTIZE_MX)  # 7 saturates, 5 is a tie to 4
    assert first_block(data)[:3] == [7, 6, 14]


@pytest.mark.parametrize("rule", ["ocp", "nki05"])
def test_quantize_mx_makes_fp4(rule):
    """The machine's operation gives the codes and scales of the host's, and `pack_x4` the words of the matmul."""
    source = tile([1.5, 0.3125, 0.4375, -0.0625, 0.1875], [1.75, 1.25, -1.25], [-0.0, 0.0])
    data, scale = quantize_mx(source, FP4_QUANTIZE_MX, scale_rule=rule)
    offline = quantize_offline(source, FP4_QUANTIZE_MX, scale_rule=rule)
    assert data.dtype == FP4_QUANTIZE_MX
    assert scale[0].tolist() == [125, 125, 0]
    assert first_block(data)[:5] == [7, 2, 4, 8, 2]
    assert np.array_equal(codes_of(data), codes_of(offline[0]))
    assert np.array_equal(scale, offline[1])
    assert pack_x4(data)[:2, 0].tolist() == [0x8427, 0x0002]


@pytest.mark.parametrize("source", [BF16, FP16], ids=lambda fmt: fmt.name)
def test_fp4_has_no_nan(source):
    """NaN saturates to +6 under infinity's scale, where dequantised numbers are beyond FP32."""
    data, scale = quantize_mx(tile([np.nan, -np.nan, np.inf, -np.inf, 60000.0], dtype=DTYPES[source]), FP4_QUANTIZE_MX)
    assert scale[0, 0] == 253
    assert first_block(data)[:5] == [7, 7, 7, 15, 0]
    assert dequantize(data, scale)[0, 0] > float(FP32.max)
    assert quantize_block([source.nan_code, source.nan_code | source.sign_mask], source, E2M1, ScaleRule.OCP) == (
        [7, 7],
        253,
    )


def test_blocks_do_not_straddle():
    """DeepWok/mase#321: a shared exponent leaked into the neighbours. One large value changes one block's scale."""
    for p, f in ((0, 3), (0, 4), (7, 3), (7, 4), (8, 0), (31, 7)):
        source = np.ones((32, 8), np.float32)
        source[p, f] = 1024
        _, scale = quantize_mx(source.astype(ml_dtypes.bfloat16), E4_QUANTIZE_MX)
        expected = np.full((4, 2), 119)
        expected[p // 8, f // 4] += 10
        assert scale.tolist() == expected.tolist()


@pytest.mark.parametrize("source", [BF16, FP16], ids=lambda fmt: fmt.name)
@pytest.mark.parametrize(("dtype", "nan"), [(E4_QUANTIZE_MX, 0x7F), (E5_QUANTIZE_MX, 0x7E)], ids=str)
def test_nan_and_infinity(source, dtype, nan):
    source = DTYPES[source]
    emax = {E4_QUANTIZE_MX: 8, E5_QUANTIZE_MX: 15}[dtype]
    with np.errstate(over="ignore"):
        data, scale = quantize_mx(tile([np.nan, -np.nan, np.inf, -np.inf, 60000.0], dtype=source), dtype)
    top = {E4_QUANTIZE_MX: 0x7E, E5_QUANTIZE_MX: 0x7B}[dtype]
    assert scale[0, 0] == 255 - emax
    assert first_block(data)[:5] == [nan, nan, top, top | 0x80, 0x00]
    if source == DTYPES[BF16]:
        data, _ = quantize_mx(tile([np.inf, 3e38]), dtype)
        assert first_block(data)[:2] == [top, {E4_QUANTIZE_MX: 0x76, E5_QUANTIZE_MX: 0x77}[dtype]]


PATTERNS = [
    pytest.param(source, element, rule, shuffle, id=f"{source.name}-{element.name}-{rule.value}-{order}")
    for source in (BF16, FP16)
    for element in (E4M3FN, E5M2, E2M1)
    for rule in ScaleRule
    for shuffle, order in ((False, "in_order"), (True, "shuffled"))
]


@pytest.mark.parametrize("whole", [pytest.param(True, marks=pytest.mark.deep), False], ids=["whole", "part"])
@pytest.mark.parametrize(("source", "element", "rule", "shuffle"), PATTERNS)
def test_all_patterns_against_the_scalar_tier(source, element, rule, shuffle, whole):
    """All 65,536 patterns as [128, 512]: neighbours in value share blocks, or shuffled."""
    codes = np.arange(1 << 16, dtype=np.uint16)
    if shuffle:  # without infinities and NaNs, which would set nearly every block's scale
        codes = np.random.default_rng(3).permutation(codes)
        codes = np.where(codes & 0x7FFF > source.max_code, codes & 0x80FF, codes)
    codes = codes.reshape(16, 128, 8, 4).transpose(0, 2, 1, 3).reshape(128, 512)
    assert np.unique(codes).size > 60_000
    # The scalar tier takes 4 s for all: once per pair of formats, an eighth for the other cases.
    rows = 128 if whole or not (shuffle or rule is ScaleRule.NKI05) else 16
    expected_data, expected_scale = scalar_tile(source, codes[:rows], element, rule)
    data, scale = quantize_mx(codes.view(DTYPES[source]), DTYPES[element], scale_rule=rule.value)
    assert np.array_equal(codes_of(data)[:rows], expected_data)
    assert np.array_equal(scale[: rows // 8], expected_scale)


@pytest.mark.parametrize("rule", ScaleRule, ids=lambda rule: rule.value)
@pytest.mark.parametrize("element", [E4M3FN, E5M2, E2M1], ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("source", [BF16, FP16, FP32], ids=lambda fmt: fmt.name)
def test_offline_against_the_scalar_tier(source, element, rule):
    """Blocks of codes of every kind, of one binade with ties, and of exponents up to 11 below the block's largest."""
    rng = np.random.default_rng(4)
    shape, place = (32, 256), source.fraction_bits

    def of_blocks(low, high):
        return rng.integers(low, high, (4, 64)).repeat(8, axis=0).repeat(4, axis=1)

    fraction = rng.integers(0, 1 << place, shape)
    ties = 5 << place | fraction & -(1 << place - 4)
    below = np.maximum(of_blocks(1, source.exponent_mask) - rng.integers(0, 12, shape), 0) << place | fraction
    codes = np.choose(of_blocks(0, 3), [rng.integers(0, source.sign_mask, shape), ties, below])
    codes |= rng.choice([0, source.sign_mask], shape)
    # Blocks of the boundaries of both formats and their neighbours, those next in value side by side.
    bounds = np.array(sorted(crossing(source, element), key=lambda code: code & ~source.sign_mask))
    bounds = np.resize(bounds, -(-len(bounds) // 32) * 32).reshape(-1, 8, 4)
    codes[:8, : 4 * len(bounds)] = bounds.transpose(1, 0, 2).reshape(8, -1)
    if element is E2M1:
        codes[codes & source.sign_mask - 1 > source.infinity_code] = 0
    expected_data, expected_scale = scalar_tile(source, codes, element, rule)
    x = codes.astype(f"u{source.width // 8}").view(DTYPES[source])
    data, scale = quantize_offline(x, DTYPES[element], scale_rule=rule.value)
    assert np.array_equal(codes_of(data), expected_data)
    assert np.array_equal(scale, expected_scale)


def test_dequantize_is_exact():
    rng = np.random.default_rng(5)
    for element in (E4M3FN, E5M2, E2M1):
        # Every code.
        codes = rng.permutation(256).reshape(32, 8).astype(np.uint8) & (1 << element.width) - 1
        scale = np.array([[0, 254], [127, 255], [1, 2], [100, 200]], np.uint8)
        values = dequantize(codes.view(DTYPES[element]), scale)
        factors = np.ldexp(1.0, scale.astype(int) - 127).repeat(8, axis=0).repeat(4, axis=1)
        expected = decode_array(element, codes) * factors
        expected[8:16, 4:] = np.nan
        assert np.array_equal(values, expected, equal_nan=True)


GOOD = tile([1.0])
DATA, SCALE = quantize_mx(GOOD, E4_QUANTIZE_MX)
FLOATS = "x must be bfloat16, float16, float32 or float64, not"
ELEMENTS = "dtype must be float8_e4m3fn, float8_e5m2 or float4_e2m1fn, not"
NO_NAN = "x holds NaN, which float4_e2m1fn cannot express"
SRC_SHAPE = "src must have shape [P, F] with F a positive multiple of 4, not"
BAD = [
    (
        lambda: quantize_mx(GOOD.astype(np.float32), E4_QUANTIZE_MX),
        TypeError,
        "src must be bfloat16 or float16, not float32",
    ),
    (lambda: quantize_mx(GOOD[:31], E4_QUANTIZE_MX), ValueError, "src must span 32, 64, 96 or 128 partitions, not 31"),
    (lambda: quantize_mx(GOOD[:, :3], E4_QUANTIZE_MX), ValueError, SRC_SHAPE),
    (lambda: quantize_mx(GOOD[0], E4_QUANTIZE_MX), ValueError, SRC_SHAPE),
    (lambda: quantize_mx(GOOD, np.float16), TypeError, f"{ELEMENTS} float16"),
    (
        lambda: quantize_mx(GOOD, E4_QUANTIZE_MX, scale_rule="max"),
        ValueError,
        "scale_rule must be 'ocp' or 'nki05', not 'max'",
    ),
    (lambda: quantize_offline(GOOD.astype(int), E4_QUANTIZE_MX), TypeError, f"{FLOATS} int64"),
    (lambda: quantize_offline(GOOD, np.float16), TypeError, f"{ELEMENTS} float16"),
    *(
        (partial(quantize_offline, tile([np.nan], dtype=dtype), FP4_QUANTIZE_MX), ValueError, NO_NAN)
        for dtype in (ml_dtypes.bfloat16, np.float16, np.float32)
    ),
    (lambda: dequantize(DATA, SCALE.astype(int)), TypeError, "scale must be uint8, not int64"),
    (
        lambda: dequantize(DATA, SCALE.T),
        ValueError,
        "scale must have shape (4, 1) for data of shape (32, 4), not (1, 4)",
    ),
]


def test_errors_of_quantize_mx(subtests):
    for call, error, sentence in BAD:
        with subtests.test(sentence), pytest.raises(error, match=f"^{re.escape(sentence)}"):
            call()


@pytest.mark.parametrize("rule", list(ScaleRule))
@pytest.mark.parametrize("element", [E4M3FN, E5M2, E2M1], ids=lambda fmt: fmt.name)
def test_float64_is_rounded_once(element, rule):
    """float64 input that float32 holds gives the same codes; other input is rounded once, here from just above a tie."""
    rng = np.random.default_rng(5)
    singles = np.ldexp(rng.standard_normal((32, 16)), rng.integers(-140, 120, (32, 16))).astype(np.float32)
    expected = quantize_offline(singles, DTYPES[element], scale_rule=rule.value)
    doubles = singles.astype(np.float64)
    got = quantize_offline(doubles, DTYPES[element], scale_rule=rule.value)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_array_equal(a.view(np.uint8), b.view(np.uint8))
    block = np.full((32, 4), 1 + 2.0 ** -(element.fraction_bits + 1) + 2.0**-40)
    data, scale = quantize_offline(block, DTYPES[element], scale_rule=rule.value)
    one_up = 1 + 2.0**-element.fraction_bits
    np.testing.assert_array_equal(dequantize(data, scale), one_up)


def test_float64_beyond_float32_saturates():
    data, scale = quantize_offline(np.full((32, 4), -1e300), DTYPES[E4M3FN])
    assert set(scale.flat) == {254 - 8}
    assert set(codes_of(data).flat) == {0xFE}
