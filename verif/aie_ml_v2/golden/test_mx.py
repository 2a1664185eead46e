"""MX9, MX6 and MX4: conversion by both tiers in all rounding codes and numerics, corners by hand, layouts."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.codes import MX4, MX6, MX9, MX_FORMATS, MX_FORMS, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, PRESETS
from bitpath.verif.aie_ml_v2.golden.operands import boundary_blocks, check, check_blocks_at_boundaries, fp32_blocks

BASE = AIE_ML_V2.numerics
NUMERICS = {name: preset.numerics for name, preset in PRESETS.items()} | {
    "no_flush": replace(BASE, mx_flush=False),
    "bump": replace(BASE, mx_bump=True),
    "min_code": replace(BASE, mx_min_code=True),
    "no_nan_block": replace(BASE, mx_nan_block=False, mx_bump=True),
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
def test_boundaries(fmt, name):
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
                assert values == exact.from_mx(BASE, exact.Block(fmt, exponent, shift, tuple(row)))


def test_the_most_negative_code_at_the_largest_exponent_is_minus_infinity():
    codes = np.full((1, 16), -128, np.int8)
    block = aie.MxBlocks("mx9", np.array([254], np.uint8), np.array([1], np.uint8), codes)
    assert aie.from_mx(block)[[0, 2]].tolist() == [-(2.0**127), -np.inf]


def any_blocks(rng, fmt, shape):
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
        assert aie.fused_dot(lanes, lanes, fmt=fmt.name, numerics=replace(BASE, **fields)).shape == (0,)


@pytest.mark.parametrize("fmt", MX, **ids)
def test_memory_and_registers(fmt):
    """Both tiers' bytes, and back."""
    rng = np.random.default_rng(2)
    for count in (4, 8, 16):
        blocks = any_blocks(rng, fmt, (3, count))
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
