"""bfp16ebs8: conversion, products and matrices by both tiers, rules by hand, and tiles in memory."""

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
from bitpath.golden.aie_ml_v2.declarations.codes import BFP16EBS8, MX9, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, XDNA2_BFP16EBS8
from bitpath.golden.matmul import matmul
from bitpath.verif.aie_ml_v2.golden.operands import (
    KINDS,
    NEGATIONS,
    accumulators,
    both,
    boundary_blocks,
    check,
    check_blocks_at_boundaries,
    fp32_blocks,
    matrices,
    negations,
)
from bitpath.verif.aie_ml_v2.golden.xdna2 import FMT, block, scalar_chain

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
def test_boundaries(name):
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
            got = aie.fused_dot(a, b, *given_accs, fmt=FMT, numerics=SUMS[name], **signs).view(np.uint32)
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
        plain, fast = both(a, b, fmt=FMT, numerics=numerics)
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
    assert np.array_equal(aie.fused_dot(a, b, acc, fmt=FMT), aie.fused_dot(*wide, acc, fmt=MX9.name, numerics=BASE))


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
    with pytest.raises(ValueError, match=f"fmt must have shift bits; {lies}"):
        aie.unpack_mx(np.zeros((1, 9), np.uint8), BFP16EBS8)
    with pytest.raises(ValueError, match=r"fmt must be .* not 'bfp16ebs8'"):
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
