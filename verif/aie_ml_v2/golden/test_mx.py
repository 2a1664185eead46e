"""Block formats MX9, MX6, MX4 and bfp16ebs8: conversion and products by both tiers, corners by hand, layouts."""

import copy
import pickle
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden import machines
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.codes import BFP16EBS8, MX4, MX6, MX9, MX_FORMATS, MX_FORMS, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, PRESETS, XDNA2_BFP16EBS8
from bitpath.golden.matmul import matmul
from bitpath.verif.aie_ml_v2.golden.operands import (
    FMT,
    KINDS,
    NEGATIONS,
    accumulators,
    block,
    both,
    boundary_blocks,
    check,
    check_blocks_at_boundaries,
    fp32_blocks,
    matrices,
    negations,
    scalar_chain,
)

# bfp16ebs8: conversion, products and matrices by both tiers, rules by hand, and tiles in memory.


BASE = XDNA2_BFP16EBS8.numerics
BUMPING = {
    RoundingCode.CEIL,
    RoundingCode.SYMMETRIC_CEIL,
    RoundingCode.POSITIVE_INF,
    RoundingCode.SYMMETRIC_INF,
    RoundingCode.CONV_EVEN,
}
"""Codes that round 127.5 to 128."""
FLAGS = ("mx_flush", "mx_bump", "mx_min_code", "mx_nan_block")
CONVERSIONS = {"preset": BASE, "aie_ml_v2": AIE_ML_V2.numerics} | {
    field: replace(BASE, **{field: not getattr(BASE, field)}) for field in FLAGS
}
SUMS = {
    "preset": BASE,
    "aie_ml_v2": AIE_ML_V2.numerics,
    "each": replace(BASE, mx_post_add_first=False),
    "no_zero_term": replace(BASE, mx_zero_term=False),
    "align20": replace(BASE, align_fraction_bits=20, flushed_zero_keeps_sign=False),
    "align26": replace(BASE, align_fraction_bits=26),
    "terms": replace(BASE, align_rounding=RoundingCode.SYMMETRIC_INF),
    "accumulators": replace(BASE, accumulator_align_rounding=RoundingCode.FLOOR),
    "result": replace(BASE, result_rounding=RoundingCode.CONV_ODD),
}
NO_EFFECT = replace(BASE, mx_lossless_shift=False, mx9_split_round=True, float_zero_term=True)
"""Fields that the preset says have no effect, turned."""


def words(rng, count):
    """FP32 codes [count, 8] of all kinds, saturating ones among them."""
    return fp32_blocks(rng, BFP16EBS8, count)[:, ::2].copy()


@pytest.mark.parametrize("name", CONVERSIONS)
@pytest.mark.parametrize("code", RoundingCode)
def test_tiers_convert_alike(code, name):
    check(CONVERSIONS[name], words(np.random.default_rng(1), 60), BFP16EBS8, code)


@pytest.mark.parametrize("name", CONVERSIONS)
def test_boundaries_of_bfp16ebs8(name):
    """The ends of FP32's normal and subnormal numbers, their neighbours and both zeros, into blocks and out of them."""
    for code in (RoundingCode.CONV_EVEN, RoundingCode.SYMMETRIC_CEIL):
        check(CONVERSIONS[name], boundary_blocks(BFP16EBS8), BFP16EBS8, code)
    check_blocks_at_boundaries(CONVERSIONS[name], BFP16EBS8)


@settings(deadline=None)
@given(st.lists(st.integers(0, (1 << 32) - 1), min_size=8, max_size=8), st.sampled_from(RoundingCode))
def test_tiers_convert_any_block_alike(block_words, code):
    check(BASE, np.array([block_words], np.uint32), BFP16EBS8, code)


def test_a_block_is_an_mx9_block_whose_pairs_hold_its_largest_element():
    """Paired with the largest element no element is shifted, so that the codes are those of bfp16ebs8."""
    x = words(np.random.default_rng(2), 200)
    largest = np.take_along_axis(x, (x & 0x7FFFFFFF).argmax(axis=1)[:, np.newaxis], axis=1)
    paired = np.stack([x, np.repeat(largest, 8, axis=1)], axis=-1).reshape(-1, 16)
    for code in RoundingCode:
        got = aie.to_mx(x.view(np.float32), FMT, rounding=code)
        wide = aie.to_mx(paired.view(np.float32), MX9, rounding=code, numerics=BASE)
        # A pair is bumped alone, the block as a whole: blocks with a bump differ.
        alike = (wide.shift == 0)[:, 0]
        assert alike.sum() > 100
        assert np.array_equal(got.exponent[alike], wide.exponent[alike])
        assert np.array_equal(got.codes[alike], wide.codes[alike][..., ::2])


@pytest.mark.parametrize("code", RoundingCode)
def test_a_code_above_the_range_bumps_the_whole_block(code):
    """XDNA2 A5: of 127.5, -127.5 and 3 the modes that make 128 take exponent 128 and round everything again."""
    got = aie.to_mx(np.array([127.5, -127.5, 3, 0, 0, 0, 0, 0], np.float32) / 64, FMT, rounding=code)
    bumped = code in BUMPING
    assert got.exponent[0] == (128 if bumped else 127)
    assert got.shift[0] == 0
    if not bumped:
        assert got.codes[0, [0, 2]].tolist() == [127, 3]
    elif code is RoundingCode.CONV_EVEN:
        assert got.codes[0, :3].tolist() == [64, -64, 2]


@pytest.mark.parametrize("code", RoundingCode)
def test_the_most_negative_code_needs_no_bump(code):
    """XDNA2 A6 for floor and ties down: -127.5 alone may become -128 under exponent 127."""
    got = aie.to_mx(np.array([-127.5, *(0,) * 7], np.float32) / 64, FMT, rounding=code)
    up = code in {RoundingCode.CEIL, RoundingCode.SYMMETRIC_FLOOR, RoundingCode.POSITIVE_INF}
    up |= code in {RoundingCode.SYMMETRIC_ZERO, RoundingCode.CONV_ODD}
    assert (got.exponent[0], got.codes[0, 0]) == (127, -127 if up else -128)


def test_ends_of_the_exponent():
    """XDNA2 A7 to A10; above 254 no bump is measured, and golden saturates."""
    rows = {
        "largest": [3.4028234663852886e38, 0, 0, 0, 0, 0, 0, 0],
        "subnormal": [2.0**-127, -(2.0**-140), 0, 0, 0, 0, 0, 0],
        "zero": [0.0, -0.0, 0, 0, 0, 0, 0, 0],
        "special": [np.inf, -np.inf, np.nan, 1.0, -1.0, 0, 0, 0],
    }
    x = np.array(list(rows.values()), np.float32)
    floor = aie.to_mx(x, FMT, rounding=RoundingCode.FLOOR)
    assert floor.exponent[:, 0].tolist() == [254, 0, 0, 255]
    assert floor.codes[:, 0, :5].tolist() == [[127, 0, 0, 0, 0], [0] * 5, [0] * 5, [64, -64, 96, 0, -1]]
    even = aie.to_mx(x[:1], FMT)
    assert (even.exponent[0, 0], even.codes[0, 0, 0]) == (254, 127)


def test_an_element_by_hand():
    """XDNA2 A1: code * 2**(exponent - 133); 64 * 1 under exponents 127 is 2**-6."""
    ones = block([64], 127)
    assert float(ones.value(0)) == 64 * 2.0 ** (127 - 133) == 1
    assert exact.trace_mx_lane(BASE, ones, block([1], 127)).result == int(np.float32(2.0**-6).view(np.uint32))


def any_blocks(rng, count, kind="any"):
    exponent = {
        "any": rng.integers(0, 256, (count, 1)),
        "near": rng.integers(120, 134, (count, 1)),
        "ends": rng.choice([0, 1, 254, 255], (count, 1)),
    }[kind]
    codes = rng.integers(-128, 128, (count, 1, 8))
    codes[: count // 4] *= rng.random((count // 4, 1, 8)) < 0.2
    codes[-count // 6 :] = -128
    return aie.MxBlocks(FMT, exponent.astype(np.uint8), np.zeros((count, 1), np.uint8), codes.astype(np.int8))


def scalar(blocks, i):
    return block(blocks.codes[i, 0], blocks.exponent[i, 0])


@pytest.mark.parametrize("name", SUMS)
def test_tiers_multiply_alike(name):
    rng = np.random.default_rng(3)
    for kind in ("any", "near", "ends"):
        a, b = any_blocks(rng, 48, kind), any_blocks(rng, 48, kind)
        with np.errstate(invalid="ignore"):
            sums = (aie.from_mx(a).astype(float) * aie.from_mx(b)).sum(axis=-1)
        acc1, acc2 = accumulators(rng, kind, sums), accumulators(rng, kind, sums)
        signs = negations(NEGATIONS[int(rng.integers(8))])
        for given_accs in ((None, None), (acc1, None), (acc1, acc2)):
            got = aie.fused_dot(a, b, *given_accs, format=FMT, numerics=SUMS[name], **signs).view(np.uint32)
            for i in range(48):
                codes = [None if acc is None else int(acc[i].view(np.uint32)) for acc in given_accs]
                trace = exact.trace_mx_lane(SUMS[name], scalar(a, i), scalar(b, i), *codes, **signs)
                assert got[i] == trace.result, trace


@pytest.mark.parametrize("numerics", SUMS.values(), ids=SUMS)
def test_matrices_are_chains_of_products_of_eight(numerics):
    """The loops equal the steps of K by `fused_dot`, and one output the chain of the exact twin."""
    rng = np.random.default_rng(4)
    for kind in KINDS:
        a, b = matrices(rng, kind)
        plain, fast = both(a, b, format=FMT, numerics=numerics)
        assert np.array_equal(plain.view(np.uint32), fast.view(np.uint32))
        sides = [np.pad(each, (0, 2)).view(np.uint32).reshape(-1, 8).tolist() for each in (a[7], b[:, 3])]
        blocks = [[exact.to_mx(numerics, each, BFP16EBS8, RoundingCode.CONV_EVEN) for each in side] for side in sides]
        assert scalar_chain(numerics, *blocks) == fast[7, 3].view(np.uint32)


def test_every_product_of_codes_is_that_of_the_upper_half_of_mx9():
    """A product of eight is an MX9 product whose upper eight codes are 0."""
    rng = np.random.default_rng(5)
    a, b = any_blocks(rng, 400, "near"), any_blocks(rng, 400, "near")
    wide = [aie.MxBlocks(MX9, x.exponent, x.shift, np.pad(x.codes, ((0, 0), (0, 0), (0, 8)))) for x in (a, b)]
    acc = rng.standard_normal(400, dtype=np.float32) * 100
    assert np.array_equal(
        aie.fused_dot(a, b, acc, format=FMT), aie.fused_dot(*wide, acc, format=MX9.name, numerics=BASE)
    )


def test_defaults_and_fields_without_effect():
    """None is XDNA2's preset; shifts, MX9's halves and zero products of floats mean nothing here."""
    rng = np.random.default_rng(6)
    a, b = (rng.standard_normal(shape, dtype=np.float32) for shape in ((5, 64), (64, 7)))
    a[0, 0], a[1, 8:16] = np.inf, 127.9
    expected = matmul(a, b, format=FMT).view(np.uint32)
    for numerics in ("xdna2_bfp16ebs8", BASE, NO_EFFECT):
        assert np.array_equal(
            matmul(a, b, format=FMT, machine="aie_ml_v2", numerics=numerics).view(np.uint32), expected
        )
    assert not np.array_equal(matmul(a, b, format=FMT, numerics="aie_ml_v2").view(np.uint32), expected)
    blocks = aie.to_mx(a, FMT)
    assert np.array_equal(aie.from_mx(blocks), aie.from_mx(blocks, numerics=BASE))
    assert np.isnan(aie.from_mx(blocks, numerics=replace(BASE, mx_nan_block=True))[0, 0])
    assert machines.find_machine(None, FMT).name == "aie_ml_v2"
    assert (aie.mx_mode(FMT).depth, aie.mx_mode(FMT).lanes) == (8, 64)


def test_the_accumulator_is_aligned_too():
    """2**-23 beside a larger term is half a unit of its grid, and rounds to even."""
    steps = [(64, 127), (1, 104 + 6), (64, 128), (-64, 128)]
    ones = block([64], 127)
    acc = scalar_chain(BASE, [block([code], exponent) for code, exponent in steps], [ones] * 4)
    assert acc == int(np.float32(1).view(np.uint32))


def test_tiles():
    """XDNA2 A2: 64 codes block by block, then 8 exponents, in both tiers and back."""
    rng = np.random.default_rng(7)
    blocks = any_blocks(rng, 3 * 16)
    blocks = aie.MxBlocks(FMT, *(x.reshape(3, 16, *x.shape[2:]) for x in (blocks.exponent, blocks.shift, blocks.codes)))
    tiles = aie.pack_tile(blocks)
    assert tiles.shape == (3, 2, 72)
    assert 8 * tiles.shape[-1] == BFP16EBS8.store_bits
    back = aie.unpack_tile(tiles)
    assert back.fmt is BFP16EBS8
    for name in ("exponent", "shift", "codes"):
        assert np.array_equal(getattr(back, name), getattr(blocks, name))
    for row, tile in product(range(3), range(2)):
        eight = [block(blocks.codes[row, i], blocks.exponent[row, i]) for i in range(8 * tile, 8 * tile + 8)]
        assert exact.pack_tile(eight) == tiles[row, tile].tobytes()
        assert exact.unpack_tile(tiles[row, tile].tobytes()) == eight
    assert tiles[0, 0, :16].view(np.int8).tolist() == blocks.codes[0, :2].ravel().tolist()
    assert tiles[0, 0, 64:].tolist() == blocks.exponent[0, :8].tolist()
    empty = aie.to_mx(np.zeros((0, 64), np.float32), FMT)
    assert aie.unpack_tile(aie.pack_tile(empty)).codes.shape == (0, 8, 8)


def test_mistakes_end_with_one_sentence():
    blocks = aie.to_mx(np.ones(64, np.float32), FMT)
    lies = "bfp16ebs8 has none, and lies in memory as `pack_tile` packs it"
    for call in (aie.pack_mx, aie.to_registers):
        with pytest.raises(ValueError, match=f"blocks must have shift bits; {lies}"):
            call(blocks)
    with pytest.raises(ValueError, match=f"format must have shift bits; {lies}"):
        aie.unpack_mx(np.zeros((1, 9), np.uint8), BFP16EBS8)
    with pytest.raises(ValueError, match=r"format must be .* not 'bfp16ebs8'"):
        aie.unpack_mx(np.zeros((1, 9), np.uint8), FMT)
    with pytest.raises(ValueError, match="blocks must be in bfp16ebs8, not in mx9"):
        aie.pack_tile(aie.to_mx(np.ones(128, np.float32), "mx9"))
    with pytest.raises(ValueError, match="blocks must have a multiple of 8 blocks on the last axis, not 7"):
        aie.pack_tile(blocks[:7])
    with pytest.raises(ValueError, match=r"data must have shape \[..., T, 72\]"):
        aie.unpack_tile(np.zeros((1, 71), np.uint8))
    with pytest.raises(ValueError, match="shift must be 0 in bfp16ebs8, not 0x1"):
        aie.MxBlocks(FMT, blocks.exponent, blocks.shift + np.uint8(1), blocks.codes)
    with pytest.raises(ValueError, match=r"codes must have shape \[8, 8\]"):
        aie.MxBlocks(FMT, blocks.exponent, blocks.shift, np.zeros((8, 16), np.int8))
    with pytest.raises(ValueError, match=r"x must have shape \[..., 8 \* B\]"):
        aie.to_mx(np.ones(12, np.float32), FMT)
    with pytest.raises(ValueError, match="inputs must have"):
        exact.to_mx(BASE, [0] * 16, BFP16EBS8, RoundingCode.FLOOR)


def test_a_copied_format_is_the_same():
    assert copy.deepcopy(BFP16EBS8) is BFP16EBS8
    assert pickle.loads(pickle.dumps(BFP16EBS8)) is BFP16EBS8


# MX9, MX6 and MX4: conversion by both tiers in all rounding codes and numerics, corners by hand, layouts.


MX_BASE = AIE_ML_V2.numerics
NUMERICS = {name: preset.numerics for name, preset in PRESETS.items()} | {
    "no_flush": replace(MX_BASE, mx_flush=False),
    "bump": replace(MX_BASE, mx_bump=True),
    "min_code": replace(MX_BASE, mx_min_code=True),
    "no_nan_block": replace(MX_BASE, mx_nan_block=False, mx_bump=True),
}
MX = list(MX_FORMATS.values())
ids = {"ids": lambda each: getattr(each, "name", each)}


@pytest.mark.parametrize("name", NUMERICS)
@pytest.mark.parametrize("code", RoundingCode)
@pytest.mark.parametrize("fmt", MX, **ids)
def test_tiers_agree(fmt, code, name):
    check(NUMERICS[name], fp32_blocks(np.random.default_rng(1), fmt, 40), fmt, code)


@pytest.mark.parametrize("name", NUMERICS)
@pytest.mark.parametrize("fmt", MX, **ids)
def test_boundaries_of_mx(fmt, name):
    """The ends of FP32's normal and subnormal numbers, their neighbours and both zeros, into blocks and out of them."""
    for code in (RoundingCode.CONV_EVEN, RoundingCode.SYMMETRIC_CEIL):
        check(NUMERICS[name], boundary_blocks(fmt), fmt, code)
    check_blocks_at_boundaries(NUMERICS[name], fmt)


@settings(deadline=None)
@given(
    st.lists(st.integers(0, (1 << 32) - 1), min_size=16, max_size=16),
    st.sampled_from(MX),
    st.sampled_from(RoundingCode),
    st.sampled_from(sorted(NUMERICS)),
)
def test_tiers_agree_on_any_block(words, fmt, code, name):
    check(NUMERICS[name], np.array([words], np.uint32), fmt, code)


def block_of(fmt, values, **options):
    padded = np.zeros(16, np.float32)
    padded[: len(values)] = values
    return aie.to_mx(padded, fmt, **options)


def test_a_block_by_hand():
    """MX9: 1.5 sets the exponent; 0.75 and 0.5 in one pair are shifted; 1.0 keeps its pair's neighbour unshifted."""
    block = block_of("mx9", [1.5, 0.25, 0.75, -0.5, 1.0, 2.0**-7])
    assert (block.exponent[0], block.shift[0]) == (127, 0b11111010)
    assert block.codes[0, :6].tolist() == [96, 16, 96, -64, 64, 0]  # 2**-7 is half of the last place, 2**-6: to even
    assert aie.from_mx(block)[:6].tolist() == [1.5, 0.25, 0.75, -0.5, 1.0, 0.0]


@pytest.mark.parametrize(("fmt", "one"), [(MX9, 0x40), (MX6, 8), (MX4, 2)], **ids)
def test_the_code_of_one(fmt, one):
    """The AIE API's identity blocks hold these codes under exponent 127."""
    assert block_of(fmt, [1.0]).codes[0, 0] == one


@pytest.mark.parametrize("fmt", MX, **ids)
def test_overflow_of_rounding_saturates_bumps_or_takes_the_most_negative_code(fmt):
    largest, almost = fmt.max_code, np.float32(2) - np.float32(2.0**-20)
    saturated = block_of(fmt, [almost, 0, -almost])
    assert saturated.codes[0, [0, 2]].tolist() == [largest, -largest]
    assert saturated.exponent[0] == 127
    bumped = block_of(fmt, [almost, 0, -almost], numerics=NUMERICS["bump"])
    assert (bumped.exponent[0], bumped.shift[0] & 0b11) == (128, 0b00)
    assert bumped.codes[0, [0, 2]].tolist() == [(largest + 1) // 2, -(largest + 1) // 2]
    negative = block_of(fmt, [1.0, 0, -almost], numerics=NUMERICS["min_code"])
    assert negative.codes[0, 2] == fmt.min_code
    # In a shifted pair the bump only clears its bit.
    shifted = block_of(fmt, [1.0, 0, almost / 2], numerics=NUMERICS["bump"])
    assert (shifted.exponent[0], shifted.shift[0] & 0b11) == (127, 0b00)
    assert shifted.codes[0, 2] == (largest + 1) // 2
    # There is no exponent above 254.
    top = block_of(fmt, [np.float32(2.0**127) * almost], numerics=NUMERICS["bump"])
    assert (top.exponent[0], top.codes[0, 0]) == (254, largest)


@pytest.mark.parametrize("fmt", MX, **ids)
def test_all_shift_masks(fmt):
    """A pair whose two elements lie a binade below has its bit set, one element does not suffice."""
    for mask in range(255):
        values = np.array([0.5 if mask >> i // 2 & 1 else 1.0 for i in range(16)], np.float32)
        assert aie.to_mx(values, fmt).shift[0] == mask
        values[1::2] = 0.5
        assert aie.to_mx(values, fmt).shift[0] == mask
    assert aie.to_mx(np.zeros(16, np.float32), fmt).shift[0] == 0


@pytest.mark.parametrize("fmt", MX, **ids)
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_a_block_with_a_special_is_nan(fmt, value):
    block = block_of(fmt, [1.0, value, 3.0])
    assert (block.exponent[0], block.shift[0]) == (255, 0)
    assert not block.codes.any()
    assert np.isnan(aie.from_mx(block)).all()


@pytest.mark.parametrize("fmt", MX, **ids)
def test_subnormals_are_flushed_and_zero_blocks_have_exponent_0(fmt):
    block = block_of(fmt, [2.0**-130, -(2.0**-149)])
    assert (block.exponent[0], block.shift[0], block.codes.any()) == (0, 0, False)
    kept = block_of(fmt, [2.0**-127], numerics=NUMERICS["no_flush"])
    assert (kept.exponent[0], kept.codes[0, 0]) == (0, 1 << fmt.magnitude_bits - 1)
    # Below FP32's normal numbers, on the way back.
    assert aie.from_mx(kept, numerics=NUMERICS["no_flush"])[0] == 0


@pytest.mark.parametrize("fmt", MX, **ids)
def test_every_code_at_every_exponent_is_read_by_both_tiers(fmt):
    codes = np.arange(fmt.min_code, fmt.max_code + 1)
    codes = np.resize(codes, -(-len(codes) // 16) * 16).reshape(-1, 16).astype(np.int8)
    for exponent in (0, 1, 2, 8, 127, 253, 254, 255):
        for shift in (0x00, 0x5A, 0xFF):
            size = codes.shape[:1]
            blocks = aie.MxBlocks(
                fmt, np.full(size, exponent, np.uint8), np.full(size, shift, np.uint8), np.ascontiguousarray(codes)
            )
            got = aie.from_mx(blocks).view(np.uint32).reshape(-1, 16)
            for row, values in zip(codes.tolist(), got.tolist(), strict=True):
                assert values == exact.from_mx(MX_BASE, exact.Block(fmt, exponent, shift, tuple(row)))


def test_the_most_negative_code_at_the_largest_exponent_is_minus_infinity():
    codes = np.full((1, 16), -128, np.int8)
    block = aie.MxBlocks("mx9", np.array([254], np.uint8), np.array([1], np.uint8), codes)
    assert aie.from_mx(block)[[0, 2]].tolist() == [-(2.0**127), -np.inf]


def mx_any_blocks(rng, fmt, shape):
    return aie.MxBlocks(
        fmt,
        rng.integers(0, 256, shape).astype(np.uint8),
        rng.integers(0, 256, shape).astype(np.uint8),
        rng.integers(fmt.min_code, fmt.max_code + 1, (*shape, 16)).astype(np.int8),
    )


def same(x, y):
    return x.fmt is y.fmt and all(
        np.array_equal(getattr(x, name), getattr(y, name)) for name in ("exponent", "shift", "codes")
    )


@pytest.mark.parametrize("fmt", MX, **ids)
def test_no_blocks_are_converted_to_none(fmt):
    blocks = aie.to_mx(np.zeros((0, 64), np.float32), fmt)
    assert blocks.codes.shape == (0, 4, 16)
    assert aie.from_mx(blocks).shape == (0, 64)
    for back in (aie.unpack_mx(aie.pack_mx(blocks), fmt), aie.from_registers(aie.to_registers(blocks))):
        assert back.codes.shape == (0, 4, 16)
    lanes = aie.MxBlocks(fmt, *(each[:, :1] for each in (blocks.exponent, blocks.shift, blocks.codes)))
    for fields in ({}, {"mx_post_add_first": False}, {"mx9_split_round": True}, {"mx_lossless_shift": False}):
        assert aie.fused_dot(lanes, lanes, format=fmt.name, numerics=replace(MX_BASE, **fields)).shape == (0,)


@pytest.mark.parametrize("fmt", MX, **ids)
def test_memory_and_registers(fmt):
    """Both tiers' bytes, and back."""
    rng = np.random.default_rng(2)
    for count in (4, 8, 16):
        blocks = mx_any_blocks(rng, fmt, (3, count))
        packed = aie.pack_mx(blocks)
        assert packed.shape == (3, count, fmt.block_bytes)
        assert same(aie.unpack_mx(packed, fmt), blocks)
        assert aie.from_mx(blocks).shape == (3, count * 16)
        registers = aie.to_registers(blocks)
        assert same(aie.from_registers(registers), blocks)
        bits = sum(getattr(registers, name).shape[-1] * 8 for name in ("data", "f", "g", "e"))
        assert bits == {MX9: 640, MX6: 384, MX4: 384}[fmt] * count // 4
        for i in range(3):
            parts = []
            for j in range(count):
                codes = tuple(blocks.codes[i, j].tolist())
                block = exact.Block(fmt, int(blocks.exponent[i, j]), int(blocks.shift[i, j]), codes)
                assert exact.pack_block(block) == packed[i, j].tobytes()
                assert exact.unpack_block(packed[i, j].tobytes(), fmt) == block
                parts.append(exact.register_bytes(block))
            for k, name in enumerate(("data", "f", "g", "e")):
                assert b"".join(part[k] for part in parts) == getattr(registers, name)[i].tobytes()


def test_memory_by_hand():
    """MX6: codes 1, -1, 2 of 5 bits from the lowest bit on: 00001, 11111, 00010."""
    codes = np.zeros((1, 16), np.int8)
    codes[0, :3] = [1, -1, 2]
    block = aie.MxBlocks("mx6", np.array([130], np.uint8), np.array([0x81], np.uint8), codes)
    assert aie.pack_mx(block)[0].tolist() == [130, 0x81, 0b11100001, 0b00001011, *(0,) * 8]


def test_an_mx4_code_is_held_as_an_mx6_code():
    codes = np.tile(np.array([-4, -3, -2, -1, 0, 1, 2, 3], np.int8), (4, 2))
    blocks = aie.MxBlocks("mx4", np.full(4, 127, np.uint8), np.zeros(4, np.uint8), codes)
    held = aie.to_registers(blocks)
    wide = aie.MxRegisters("mx6", held.data, held.f, held.g, held.e)
    assert np.array_equal(aie.from_registers(wide).codes, codes * 4)
    assert np.array_equal(aie.from_mx(aie.from_registers(wide)), aie.from_mx(blocks))
    assert MX_FORMS[MX4] is MX_FORMS[MX6]
    assert [fmt.store_bits for fmt in MX] == [576, 768, 512]


@pytest.mark.parametrize("fmt", [MX9, MX6, MX4], ids=lambda fmt: fmt.name)
def test_copied_formats_are_the_same(fmt):
    """Formats are compared by identity: a copied or unpickled format is the same object."""
    blocks = aie.to_mx(np.ones(16, np.float32), fmt.name)
    assert copy.deepcopy(fmt) is fmt
    assert pickle.loads(pickle.dumps(blocks)).fmt is fmt
    other = replace(fmt, store_bits=0)
    assert pickle.loads(pickle.dumps(other)) == other
