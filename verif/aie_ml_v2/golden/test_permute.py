"""Shuffles, shifts, scalars and lanes, masks: by both tiers, and by hand."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.mover import (
    BROADCAST_LANE_BITS,
    MASK_LANES,
    SCALAR_LANE_BITS,
    SHUFFLE_CODES,
    SHUFFLE_MODES,
    Half,
    ShuffleMode,
)


def register(data):
    return int.from_bytes(data.tobytes(), "little")


def any_register(rng):
    return rng.integers(0, 256, 64).astype(np.uint8)


FAMILY = [
    *SHUFFLE_CODES.values(),
    *(ShuffleMode(bits=8 << i, rows=1 << j, cols=64 >> i + j) for i in range(4) for j in range(7 - i)),
    *(ShuffleMode(bits=8, rows=1 << i, cols=1 << j) for i in range(4) for j in range(4)),
    *(ShuffleMode(bits=32, rows=r, cols=32 // r, half=half) for r in (1, 2, 4, 8, 16, 32) for half in Half),
]


@pytest.mark.parametrize("mode", FAMILY, ids=lambda mode: mode.name)
def test_shuffles(mode):
    rng = np.random.default_rng(17)
    low, high = any_register(rng), any_register(rng)
    got = aie.shuffle(low, None if mode.half is None else high, mode=mode)
    assert register(got) == exact.shuffle(register(low), register(high), mode)


def test_shuffles_by_hand():
    low, high = np.arange(64, dtype=np.uint8), np.arange(64, 128, dtype=np.uint8)
    assert np.array_equal(aie.shuffle(low, high, mode="T512_1x2_hi"), high)
    assert aie.shuffle(low, high, mode=98)[:6].tolist() == [0, 64, 1, 65, 2, 66]
    assert aie.shuffle(low, high, mode="T8_2x64_hi")[:4].tolist() == [32, 96, 33, 97]
    assert aie.shuffle(low, mode="T8_8x8")[:9].tolist() == [0, 8, 16, 24, 32, 40, 48, 56, 1]
    assert aie.shuffle(low, mode=106)[:24:8].tolist() == [0, 16, 32]
    assert aie.shuffle(low, mode="T8_1x4_flip")[:5].tolist() == [3, 2, 1, 0, 7]
    assert aie.shuffle(low, mode=59)[:4].tolist() == [2, 3, 0, 1]
    assert aie.shuffle(low, mode=73)[:4].tolist() == [60, 61, 62, 63]
    assert aie.shuffle(low, high, mode=82)[:8].tolist() == [0, 1, 64, 65, 2, 3, 66, 67]
    assert aie.shuffle(low, mode="T16_2x4")[:18].tolist() == [
        0,
        1,
        8,
        9,
        2,
        3,
        10,
        11,
        4,
        5,
        12,
        13,
        6,
        7,
        14,
        15,
        16,
        17,
    ]
    assert aie.shuffle(np.zeros((0, 64), np.uint8), mode=73).shape == (0, 64)


def test_there_are_58_codes():
    assert len(SHUFFLE_CODES) == len(SHUFFLE_MODES) == 58
    kinds = Counter((mode.half is not None, mode.flip) for mode in SHUFFLE_CODES.values())
    assert kinds == {(True, False): 36, (False, False): 19, (False, True): 3}


@pytest.mark.parametrize("code", SHUFFLE_CODES)
def test_every_route_is_its_name_s_permutation(code):
    """Bytes of a field stay together; both halves of two registers, or the one register, hold every byte once; a second
    shuffle by the transposed matrix puts them back."""
    mode, numbers = SHUFFLE_CODES[code], np.arange(128, dtype=np.uint8)
    low, high = numbers[:64], None if mode.half is None else numbers[64:]
    halves = [mode] if high is None else [SHUFFLE_MODES[f"{mode.name[:-2]}{half.value}"] for half in Half]
    route = np.concatenate([aie.shuffle(low, high, mode=each) for each in halves])
    assert sorted(route.tolist()) == list(range(len(route)))
    fields = route.reshape(-1, mode.bits // 8).astype(int)
    assert np.array_equal(fields, fields[:, :1] + np.arange(mode.bits // 8))
    back = [
        each if mode.flip else ShuffleMode(bits=mode.bits, rows=mode.cols, cols=mode.rows, half=each.half)
        for each in halves
    ]
    again = [aie.shuffle(route[:64], None if high is None else route[64:], mode=each) for each in back]
    assert np.concatenate(again).tolist() == list(range(len(route)))


@pytest.mark.parametrize("fmt", ["mx9", "mx6", "mx4"])
@pytest.mark.parametrize("code", [code for code, mode in SHUFFLE_CODES.items() if mode.bits >= 64])
def test_shuffles_of_mx_registers(fmt, code):
    """Each share of an exponent moves with its 64 bits of data: numbers move, none changes."""
    rng, mode = np.random.default_rng(18), SHUFFLE_CODES[code]
    x = rng.standard_normal((2, 64 if fmt == "mx9" else 128)).astype(np.float32)
    low, high = (aie.to_registers(aie.to_mx(each, fmt)) for each in x)
    got = aie.shuffle_mx(low, None if mode.half is None else high, mode=code)
    for name in ("data", "f", "g", "e"):
        parts = [getattr(each, name) for each in (low, high)]
        width = parts[0].shape[-1] * 8
        if width:
            expected = exact.shuffle(register(parts[0]), register(parts[1]), mode, width)
            assert register(getattr(got, name)) == expected
    if fmt != "mx9":
        share = 16
        before = aie.from_mx(aie.to_mx(x if mode.half else x[:1], fmt)).reshape(-1, share)
        after = aie.from_mx(aie.from_registers(got)).reshape(-1, share)
        assert {tuple(row) for row in after.tolist()} <= {tuple(row) for row in before.tolist()}


def test_halves_of_mx9_blocks_move_by_themselves():
    """T64_4x2 gathers the low halves of four blocks: k = 0..7 of four rows, as the product's first cycle reads them."""
    x = np.repeat(np.exp2(np.arange(4)), 16).astype(np.float32)
    moved = aie.shuffle_mx(aie.to_registers(aie.to_mx(x, "mx9")), mode="T64_4x2")
    assert moved.e.tolist() == [127, 128, 129, 130] * 2
    with pytest.raises(ValueError, match="e must hold equal exponents for the halves of a block, not different"):
        aie.from_registers(moved)


@settings(deadline=None)
@given(st.integers(0, 64), st.sampled_from(SCALAR_LANE_BITS), st.integers(0, 255), st.booleans())
def test_vector_shifts(count, bits, scalar, at_top):
    rng = np.random.default_rng(19)
    low, high = any_register(rng), any_register(rng)
    got = aie.vector_shift(low, high, count=count)
    assert register(got) == exact.vector_shift(register(low), register(high), count)
    assert register(aie.vector_shift(low, count=count)) == exact.vector_shift(register(low), 0, count)
    pushed = aie.push(low, scalar, bits=bits, at_top=at_top)
    assert register(pushed) == exact.push(register(low), scalar, bits, at_top)


@settings(deadline=None)
@given(st.data())
def test_scalars_and_lanes(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x, bits = rng.integers(0, 256, (2, 64)).astype(np.uint8), data.draw(st.sampled_from(SCALAR_LANE_BITS))
    index, signed = data.draw(st.integers(0, 63) | st.integers(0, (1 << 32) - 1)), data.draw(st.booleans())
    scalar = data.draw(st.integers(0, (1 << bits) - 1))
    inserted, extracted = aie.insert(x, index, scalar, bits=bits), aie.extract(x, index, bits=bits, signed=signed)
    wide = data.draw(st.sampled_from(BROADCAST_LANE_BITS))
    copied = aie.extract_broadcast(x, index, bits=wide)
    for i, row in enumerate(map(register, x)):
        assert register(inserted[i]) == exact.insert(row, index, scalar, bits)
        assert int(extracted[i]) == exact.extract(row, index, bits, signed)
        assert register(copied[i]) == exact.extract_broadcast(row, index, wide)
    assert register(aie.broadcast(scalar, bits=bits)) == exact.broadcast(scalar, bits)


def test_scalars_and_lanes_by_hand():
    x = np.arange(64, dtype=np.uint8) + np.uint8(192)
    assert aie.extract(x, 1, bits=8) == 0xFFFFFFC1
    assert aie.extract(x, 65, bits=8, signed=False) == 0xC1
    assert aie.extract(x, 31, bits=16) == 0xFFFFFFFE
    assert aie.extract(x, 1, bits=64) == 0xCFCECDCCCBCAC9C8
    assert [aie.extract(x, 0, bits=bits).dtype.name for bits in SCALAR_LANE_BITS] == ["uint32"] * 3 + ["uint64"]
    assert aie.insert(x, 17, 0x01020304, bits=32)[3:9].tolist() == [195, 4, 3, 2, 1, 200]
    assert x[4] == 196
    assert aie.broadcast(0x0102, bits=16)[:4].tolist() == [2, 1, 2, 1]
    assert aie.extract_broadcast(x, 3, bits=128).tolist() == [*range(240, 256)] * 4
    assert aie.push(x, 1, bits=64)[:10].tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 192, 193]
    assert aie.push(x, 1, bits=64, at_top=True)[-9:].tolist() == [255, 1, 0, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("lanes", MASK_LANES)
def test_masks_are_scalars(lanes):
    """Bit i is lane i, in an r register up to 32 lanes, else in an l register."""
    rng = np.random.default_rng(23)
    mask = rng.integers(0, 2, (3, 2, lanes)).astype(bool)
    bits = aie.pack_mask(mask)
    assert (bits.shape, bits.dtype.itemsize * 8) == ((3, 2), max(lanes, 32))
    assert [exact.pack_mask(row) for row in mask.reshape(-1, lanes).tolist()] == bits.reshape(-1).tolist()
    assert np.array_equal(aie.unpack_mask(bits, lanes=lanes), mask)
    assert exact.unpack_mask(int(bits[0, 0]), lanes) == mask[0, 0].tolist()
    assert aie.pack_mask(np.arange(lanes) == lanes - 1) == 1 << lanes - 1
    assert np.array_equal(
        aie.unpack_mask(bits.astype(np.uint64) | np.uint64(1) << np.uint64(63), lanes=16), mask[..., :16]
    )


def test_the_mask_of_a_comparison():
    a, b = (np.array(each, np.int64).repeat(8) for each in ([1, -1], [0, 0]))
    assert aie.pack_mask(aie.vector_op("lt", a, b, bits=32)[1]) == 0xFF00
