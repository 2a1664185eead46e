"""Vector operations: add and compare, sparsity, cascade, shuffles, masks, exp2 and tanh, by both tiers and by hand."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import atanh

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.codes import FLOAT_OP_FORMATS, FLOAT_OPS, LANE_BITS, SPARSE_PAIRS, VectorOp
from bitpath.golden.aie_ml_v2.declarations.modes import MODES
from bitpath.golden.aie_ml_v2.declarations.mover import (
    BF20,
    BROADCAST_LANE_BITS,
    MASK_LANES,
    SCALAR_LANE_BITS,
    SHUFFLE_CODES,
    SHUFFLE_MODES,
    Half,
    ShuffleMode,
)
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2
from bitpath.golden.aie_ml_v2.exact.fused import TANH_IS_ONE, convergent
from bitpath.golden.aie_ml_v2.mac.elementwise import MASKED_OPS, UNARY_OPS
from bitpath.golden.arrays.codec import DTYPES, codes_of, decode_array
from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.scalar.codec import decode
from bitpath.verif.aie_ml_v2.golden.operands import sparse_rows
from bitpath.verif.common.boundary_codes import codes

# Shuffles, shifts, scalars and lanes, masks: by both tiers, and by hand.


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


def test_every_route_is_its_name_s_permutation(subtests):
    """Bytes of a field stay together; both halves of two registers, or the one register, hold every byte once; a second
    shuffle by the transposed matrix puts them back."""
    numbers = np.arange(128, dtype=np.uint8)
    for mode in SHUFFLE_CODES.values():
        with subtests.test(mode.name):
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


# Both tiers of exp2 and tanh on every table entry and around every tie.


BASE = AIE_ML_V2.numerics
FORMATS = {"bf16": BF16, "fp16": FP16, "fp32": BF20}
SPECIALS = [0, 1 << 31, 1, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF, 0xFF7FFFFF, 0x445FC010]


def f32(bits):
    return np.array(bits, np.uint32).view(np.float32)


def result_codes(result):
    """Codes of exp2's result; those of FP32 are BF20 with zeros below."""
    if result.dtype != np.float32:
        return result.view(np.uint16).tolist()
    bits = result.view(np.uint32)
    assert not np.any(bits & 0xFFF)
    return (bits >> 12).tolist()


@pytest.mark.parametrize("fmt", FORMATS)
def test_every_entry_of_the_exponential(fmt):
    """The 2048 arguments of one binade, one FP32 step below some, and the ends of the range."""
    entries = (895 + np.arange(2048) / 2048).astype(np.float32)
    t = np.concatenate([entries, np.nextafter(entries[::64], np.float32(0))])
    ends = [768, 768.0005, 769, 879, 880, 881, 910, 911, 1022, 1022.9995, 1023, 1023.9995, 1024, 0, -1, 1e30, -1e30]
    t = np.concatenate([t, np.array(ends, np.float32), f32(SPECIALS)])
    got = result_codes(aie.exp2_instruction(t, format=fmt))
    assert got == [exact.exp2_instruction(each, FORMATS[fmt]) for each in t.view(np.uint32).tolist()]


@pytest.mark.parametrize("fmt", FORMATS)
def test_boundaries(fmt):
    """FP32's boundaries and their neighbours, arguments next to those of the results', and both zeros."""
    of_result = FORMATS[fmt]
    ends = [of_result.emin, of_result.emin - of_result.fraction_bits, of_result.emax, of_result.emax + 1]
    arguments = np.array([0.5, 1, 2, 4, *ends], np.float32).view(np.uint32).astype(np.int64)
    bits = sorted({*codes(FP32), *(arguments + np.arange(-1, 2)[:, np.newaxis]).ravel().tolist()})
    assert result_codes(aie.exp2(f32(bits), format=fmt)) == [exact.exp2(BASE, each, FORMATS[fmt]) for each in bits]
    assert aie.tanh(f32(bits)).view(np.uint16).tolist() == [exact.tanh(each) for each in bits]


@settings(deadline=None)
@given(st.integers(0, (1 << 32) - 1), st.sampled_from(sorted(FORMATS)))
def test_exponential_of_any_code(bits, fmt):
    assert result_codes(aie.exp2(f32([bits]), format=fmt)) == [exact.exp2(BASE, bits, FORMATS[fmt])]


def test_exponential_by_hand():
    x = np.array([0, 1, -1, 10, -126, -127, 127, 128, np.inf, -np.inf, np.nan], np.float32)
    got = aie.exp2(x).astype(np.float32)
    assert got[:5].tolist() == [1, 2, 0.5, 1024, 2.0**-126]
    largest = float(BF16.max)
    assert got[5:10].tolist() == [0, 2.0**127, largest, largest, 0]
    assert np.isnan(got[10])
    ends = aie.exp2(np.array([0, 128, np.nan], np.float32), format="fp32")
    assert ends.view(np.uint32).tolist() == [0x3F801000, 0x7F7FF000, 0x7FC00000]
    # The header's constant is 0.001 above 895; the rest is the result's own rounding to 8 bits.
    x = np.random.default_rng(13).uniform(-100, 100, 5000).astype(np.float32)
    error = aie.exp2(x).astype(float) / np.exp2(x.astype(float)) - 1
    assert np.abs(error).max() < np.log(2) * (0.001 + 2.0**-14) + 2.0**-8


def ties():
    """FP32 codes around every number whose tanh is a tie between two BF16 numbers."""
    numbers = decode_array(BF16, np.arange(0x3880, 0x3F81))
    midpoints = (numbers[:-1] + numbers[1:]) / 2
    bits = np.array([atanh(each) for each in midpoints]).astype(np.float32).view(np.uint32)
    return np.concatenate([bits - 1, bits, bits + 1])


def test_tanh_next_to_every_tie():
    bits = ties()
    got = aie.tanh(bits.view(np.float32)).view(np.uint16)
    assert got.tolist() == [exact.tanh(each) for each in bits.tolist()]
    assert np.array_equal(aie.tanh(-bits.view(np.float32)).view(np.uint16), got | 0x8000)


def test_convergents_lie_by_turns_below_and_above():
    """The convergents of tanh(1) are x, x / (1 + x**2 / 3), x / (1 + x**2 / (3 + x**2 / 5)), ..."""
    first = [convergent(Fraction(1), depth) for depth in (1, 2, 3)]
    assert first == [1, Fraction(3, 4), Fraction(16, 21)]
    for x in (Fraction(1, 4), Fraction(1), Fraction(3)):
        above, below = ([convergent(x, depth) for depth in range(start, 9, 2)] for start in (1, 2))
        ordered = [*below, *reversed(above)]
        assert ordered == sorted(set(ordered))


def test_small_arguments_and_specials():
    rng = np.random.default_rng(14)
    bits = np.concatenate([SPECIALS, rng.integers(0, 0x39000000, 200), 0x38FFFFF0 + np.arange(32)])
    tie = rng.integers(1, 0x3900, 50) << 16 | 0x8000
    bits = np.concatenate([bits, tie, tie | 1 << 31, rng.integers(0, 1 << 32, 200)]).astype(np.uint32)
    got = aie.tanh(bits.view(np.float32)).view(np.uint16)
    assert got.tolist() == [exact.tanh(each) for each in bits.tolist()]


def test_tanh_by_hand():
    x = np.array([0.0, -0.0, 0.5, -0.5, 1.0, 3.0, 4.0, 100.0, np.inf, -np.inf], np.float32)
    expected = np.tanh(x.astype(float)).astype(ml_dtypes.bfloat16)
    assert np.array_equal(aie.tanh(x).view(np.uint16), expected.view(np.uint16))
    assert np.isnan(aie.tanh(np.float32([np.nan])).astype(np.float32))[0]
    assert decode(FP32, 0x40800000).value == TANH_IS_ONE


# Add/compare, sparsity, cascade: by both tiers, and by hand.


SMALL_FLOATS = [fmt for family in FLOAT_OP_FORMATS for fmt in family]


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("bits", LANE_BITS)
@pytest.mark.parametrize("op", VectorOp, ids=lambda op: op.name)
def test_integer_operations(op, bits, signed):
    rng = np.random.default_rng(15)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    shape = 20, 512 // bits
    a, b = (rng.choice([low, low + 1, 0, 1, high, *rng.integers(low, high, 5)], shape) for _ in range(2))
    mask = rng.integers(0, 2, shape).astype(bool) if op in MASKED_OPS else None
    values, flags = aie.vector_op(op, a, None if op in UNARY_OPS else b, bits=bits, signed=signed, mask=mask)
    given_mask = np.zeros(shape, bool) if mask is None else mask
    operands = (each.reshape(-1).tolist() for each in (a, b, given_mask))
    expected = [exact.integer_op(op, x, y, bits, signed, m) for x, y, m in zip(*operands, strict=True)]
    assert list(zip(values.reshape(-1).tolist(), flags.reshape(-1).tolist(), strict=True)) == expected


def test_integer_operations_by_hand():
    a, b = np.resize([-128, 5, -3, 0], 64), np.resize([1, 5, -9, 0], 64)
    expected = {
        "add": ([-127, 10, -12, 0], [0, 0, 0, 0]),
        "sub": ([127, 0, 6, 0], [0, 0, 0, 0]),
        "maxdiff_lt": ([0, 0, 6, 0], [1, 0, 0, 0]),
        "min_ge": ([-128, 5, -9, 0], [0, 1, 1, 1]),
        "max_lt": ([1, 5, -3, 0], [1, 0, 0, 0]),
    }
    for op, (values, flags) in expected.items():
        got = aie.vector_op(op, a, b, bits=8)
        # max(-128 - 1, 0) is 0: the difference is taken before it wraps.
        assert (got[0][:4].tolist(), got[1][:4].tolist()) == (values, [bool(each) for each in flags])
    assert aie.vector_op("abs_gtz", a, bits=8)[0][:3].tolist() == [-128, 5, 3]
    picks = np.resize([True, False], 64)
    assert aie.vector_op("sel", a, b, bits=8, mask=picks)[0][:4].tolist() == [1, 5, -9, 0]
    assert aie.vector_op("addsub", a, b, bits=8, mask=picks)[0][:4].tolist() == [127, 10, 6, 0]


@pytest.mark.parametrize("op", FLOAT_OPS, ids=lambda op: op.name)
@pytest.mark.parametrize("fmt", SMALL_FLOATS, ids=lambda fmt: fmt.name)
def test_float_operations(fmt, op):
    """Edges of the format against each other, NaN and zeros of both signs among them; every code against a few."""
    rng = np.random.default_rng(16)
    edges = [0, 1, fmt.fraction_mask, fmt.fraction_mask + 1, fmt.max_code, fmt.max_code & 0xFFFE, fmt.nan_code]
    edges += [] if fmt.infinity_code is None else [fmt.infinity_code]
    edges = np.array([*edges, *(each | fmt.sign_mask for each in edges)])
    x, y = (each.reshape(-1) for each in np.meshgrid(edges, edges))
    x, y = (np.concatenate([side, rng.integers(0, 1 << fmt.width, 512)]) for side in (x, y))
    lanes = 512 // fmt.width
    a, b = (np.resize(side, -(-len(side) // lanes) * lanes).reshape(-1, lanes) for side in (x, y))
    a, b = (side.astype(f"u{fmt.width // 8}").view(DTYPES[fmt]) for side in (a, b))
    values, flags = aie.float_op(op, a, b)
    got = list(zip(codes_of(values).reshape(-1).tolist(), flags.reshape(-1).tolist(), strict=True))
    pairs = zip(codes_of(a).reshape(-1).tolist(), codes_of(b).reshape(-1).tolist(), strict=True)
    assert got == [exact.float_op(op, i, j, fmt) for i, j in pairs]


def test_codes_of_float_operations_are_20_to_35():
    assert [FLOAT_OPS[op] + i for op in FLOAT_OPS for i in range(len(FLOAT_OP_FORMATS))] == list(range(20, 36))


def test_float_operations_by_hand():
    a = np.resize(np.array([1, np.nan, 2, -0.0], ml_dtypes.bfloat16), 32)
    b = np.resize(np.array([np.nan, 3, 1, 0.0], ml_dtypes.bfloat16), 32)
    low, ge = aie.float_op("min_ge", a, b)
    high, lt = aie.float_op("max_lt", a, b)
    assert (low[:4].astype(float).tolist(), ge[:4].tolist()) == ([1, 3, 1, 0], [False, False, True, True])
    assert (high[:4].astype(float).tolist(), lt[:4].tolist()) == ([1, 3, 2, 0], [False] * 4)
    assert np.signbit(high[3].astype(float))
    assert not np.signbit(low[3].astype(float))


def test_every_mask_of_a_group():
    entities = [11, 22, 33, 44]
    for mask, (low, high) in SPARSE_PAIRS.items():
        dense = np.array([each if mask >> i & 1 else 0 for i, each in enumerate(entities)], np.uint8)
        sparse = aie.to_sparse(dense)
        expected = [0 if position is None else entities[position] for position in (low, high)]
        assert sparse.slots[0].tolist() == expected == list(exact.load_group(dense.tolist(), mask))
        assert (sparse.mask.tolist(), aie.to_dense(sparse).tolist()) == ([mask], dense.tolist())
        assert exact.route_group(tuple(expected), mask) == dense.tolist()
        a = np.arange(1, 5)
        kept = aie.select(a, sparse).tolist()
        products = exact.pairs(a.tolist(), tuple(expected), mask)
        assert [(x, y) for x, y in zip(kept, expected, strict=True)] == products


def test_no_rows_are_sparse():
    none = aie.to_sparse(np.zeros((0, 16), np.uint8))
    assert aie.to_dense(none).shape == (0, 16)
    assert aie.select(np.zeros((0, 16), np.uint8), none).shape == (0, 8)
    a = np.zeros((0, 16), ml_dtypes.bfloat16)
    assert aie.sparse_dot(a, aie.to_sparse(a), format="bf16").shape == (0,)


def test_single_entities_go_to_the_slot_of_their_half():
    """UG1583: (0, A), (0, B), (C, 0), (D, 0), the high slot first."""
    for position, slot in ((0, 0), (1, 0), (2, 1), (3, 1)):
        dense = np.zeros(4, np.uint8)
        dense[position] = 7
        assert aie.to_sparse(dense).slots[0, slot] == 7


@pytest.mark.parametrize("mask", sorted(set(range(16)) - set(SPARSE_PAIRS)))
def test_more_than_two_entities_are_refused(mask):
    dense = np.array([mask >> i & 1 for i in range(4)], np.uint8)
    with pytest.raises(ValueError, match=f"dense must set two bits in each group of four, not {mask:04b}"):
        aie.to_sparse(dense)
    with pytest.raises(ValueError, match=f"mask must set two bits in each group of four, not {mask:04b}"):
        exact.load_group([1, 2, 3, 4], mask)


@pytest.mark.parametrize("entity_bytes", [1, 2])
def test_compression_in_memory(entity_bytes):
    rng = np.random.default_rng(20)
    for _ in range(30):
        entities = sparse_rows(rng, 1, 16 // entity_bytes, 1 << 8 * entity_bytes)[0]
        data = entities.astype(f"<u{entity_bytes}").view(np.uint8)
        stream = aie.compress(data)
        assert stream.tobytes() == exact.compress(data.tobytes())
        assert len(stream) % 4 == 0
        back, mask, used = aie.decompress(np.concatenate([stream, data]))
        assert (back.tolist(), used) == (data.tolist(), len(stream))
        assert np.array_equal(mask, data != 0)
        loaded = aie.sparse_load(stream, entity_bytes)
        assert np.array_equal(loaded.slots, aie.to_sparse(entities.astype(f"u{entity_bytes}")).slots)
        assert np.array_equal(aie.to_dense(loaded), entities)


def test_a_16_bit_entity_with_one_zero_byte_is_held():
    data = np.zeros(64, np.uint8)
    data[3] = 9
    loaded = aie.sparse_load(aie.compress(data), 2)
    assert (loaded.mask[0], loaded.slots[0].tolist()) == (0b0010, [0x0900, 0])


@pytest.mark.parametrize("fmt", ["int8", "int16_64", "bf16", "fp16", "fp8"])
def test_sparse_products_are_dense_ones(fmt):
    rng = np.random.default_rng(21)
    k = 8 if fmt == "int16_64" else 16
    dense = sparse_rows(rng, 50, k // 4, 8) * rng.choice([-1, 1], (50, k))
    a = rng.integers(-8, 8, (50, k))
    if fmt in MODES:
        acc = rng.integers(-1000, 1000, 50)
        assert np.array_equal(aie.sparse_dot(a, aie.to_sparse(dense), acc, format=fmt), (a * dense).sum(axis=-1) + acc)
        return
    dtype = {"bf16": ml_dtypes.bfloat16, "fp16": np.float16, "fp8": ml_dtypes.float8_e4m3fn}[fmt]
    x, y = a.astype(dtype), np.where(dense == 0, 0, dense).astype(dtype)
    acc = rng.integers(-1000, 1000, 50).astype(np.float32)
    got = aie.sparse_dot(x, aie.to_sparse(y), acc, format=fmt, negate_products=True)
    assert np.array_equal(got, acc - (x.astype(float) * y.astype(float)).sum(axis=-1))


def test_an_empty_slot_multiplies_nothing():
    a = np.full(16, np.inf).astype(ml_dtypes.bfloat16)
    b = np.zeros(16, np.float32).astype(ml_dtypes.bfloat16)
    b[5] = 1
    assert aie.sparse_dot(a, aie.to_sparse(b), format="bf16") == np.inf


def test_the_cascade_holds_four_values():
    link, rng = aie.Cascade(), np.random.default_rng(22)
    values = [rng.integers(0, 1 << 32, 16, dtype=np.uint32) for _ in range(8)]
    taken = [link.cycle(value)[0] for value in values]
    assert taken == [True, True, True, True, False, False, False, False]
    assert (link.in_flight, link.can_write, link.can_read) == (4, False, True)
    read = [link.cycle(read=True)[1] for _ in range(6)]
    assert np.array_equal(read[:4], values[:4])
    assert read[4:] == [None, None]


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60))
def test_the_cascade_keeps_order_and_loses_nothing(pattern):
    link, sent, received = aie.Cascade(), [], []
    for i, (writes, reads) in enumerate([*pattern, *product((False,), (True,) * 6)]):
        taken, value = link.cycle(np.full(16, i, np.uint32) if writes else None, read=reads)
        sent += [i] * taken
        received += [] if value is None else [int(value[0])]
        assert link.in_flight == len(sent) - len(received) <= 4
    assert received == sent


def test_a_steady_stream_passes_one_value_a_cycle():
    link = aie.Cascade()
    received = [link.cycle(np.full(16, i, np.uint32), read=True)[1] for i in range(20)]
    assert [int(each[0]) for each in received[2:]] == list(range(18))
