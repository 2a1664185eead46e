"""Add/compare, sparsity, cascade: by both tiers, and by hand."""

from itertools import product

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.codes import FLOAT_OP_FORMATS, FLOAT_OPS, LANE_BITS, SPARSE_PAIRS, VectorOp
from bitpath.golden.aie_ml_v2.declarations.modes import MODES
from bitpath.golden.aie_ml_v2.mac.elementwise import MASKED_OPS, UNARY_OPS
from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.verif.aie_ml_v2.golden.operands import sparse_rows

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
    assert aie.sparse_dot(a, aie.to_sparse(a), fmt="bf16").shape == (0,)


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
        assert np.array_equal(aie.sparse_dot(a, aie.to_sparse(dense), acc, fmt=fmt), (a * dense).sum(axis=-1) + acc)
        return
    dtype = {"bf16": ml_dtypes.bfloat16, "fp16": np.float16, "fp8": ml_dtypes.float8_e4m3fn}[fmt]
    x, y = a.astype(dtype), np.where(dense == 0, 0, dense).astype(dtype)
    acc = rng.integers(-1000, 1000, 50).astype(np.float32)
    got = aie.sparse_dot(x, aie.to_sparse(y), acc, fmt=fmt, negate_products=True)
    assert np.array_equal(got, acc - (x.astype(float) * y.astype(float)).sum(axis=-1))


def test_an_empty_slot_multiplies_nothing():
    a = np.full(16, np.inf).astype(ml_dtypes.bfloat16)
    b = np.zeros(16, np.float32).astype(ml_dtypes.bfloat16)
    b[5] = 1
    assert aie.sparse_dot(a, aie.to_sparse(b), fmt="bf16") == np.inf


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
