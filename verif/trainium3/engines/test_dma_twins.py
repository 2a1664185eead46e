"""DMA copies, row gathers and scatters, and transposes against their exact twins."""

import re

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.trainium3 import (
    dma_copy,
    dma_gather,
    dma_gather_add,
    dma_gather_transpose,
    dma_scatter,
    dma_scatter_add,
    dma_transpose,
    exact,
)
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, container_bits
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES
from bitpath.verif.trainium3.dtype_words import array_of, codes_of, corners

SEEDS = st.integers(0, 2**32 - 1)
NAMES = st.sampled_from(list(FORMATS))
FLAT = st.sampled_from(list(CAST_DTYPES))
INNER = st.sampled_from([(1,), (5,), (2, 3), (3, 1, 2)])


def words(rng, name, shape):
    """Codes of a dtype: corners and any bits."""
    anywhere = rng.integers(0, 1 << container_bits(name), shape)
    return np.where(rng.random(shape) < 0.5, rng.choice(corners(name), shape), anywhere)


def flat_rows(values):
    return codes_of(values).reshape(len(values), -1).tolist()


@settings(max_examples=80, deadline=None)
@given(st.sampled_from([(6,), (2, 3), (3, 1, 2), ()]), NAMES, NAMES, SEEDS)
def test_dma_copy_is_the_exact_twin(shape, source, name, seed):
    codes = words(np.random.default_rng(seed), source, shape)
    dtype = name if name == "tf32" else CAST_DTYPES[name]
    turned = (*shape[::-1], 1)
    got = dma_copy(array_of(codes, source), turned, dtype, source="tf32" if source == "tf32" else None)
    assert got.shape == turned
    assert codes_of(got).ravel().tolist() == exact.dma_copy(codes.ravel().tolist(), source, name)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 128), st.integers(1, 30), INNER, FLAT, FLAT, st.booleans(), SEEDS)
def test_rows_are_the_exact_twins(partitions, height, inner, name, other, signed, seed):
    """Casts, equal indices, and indices outside the table."""
    rng = np.random.default_rng(seed)
    table = array_of(words(rng, name, (height, *inner)), name)
    rows = array_of(words(rng, other, (partitions, *inner)), other)
    indices = rng.integers(-2 if signed else 0, height + 2, (partitions, 1))
    numbers = indices[:, 0].tolist()
    indices = indices.astype(np.int32 if signed else np.uint32)
    got = dma_gather(rows, table, indices, oob="skip")
    assert got.dtype == rows.dtype
    assert flat_rows(got) == exact.dma_gather(flat_rows(rows), flat_rows(table), numbers, name, other, skip=True)
    got = dma_scatter(table, indices, rows, oob="skip")
    assert got.dtype == table.dtype
    assert flat_rows(got) == exact.dma_scatter(flat_rows(table), numbers, flat_rows(rows), other, name, skip=True)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 20), INNER, FLAT, FLAT, SEEDS)
def test_additions_to_rows_are_the_exact_twins(partitions, inner, name, other, seed):
    rng = np.random.default_rng(seed)
    table = array_of(words(rng, name, (24, *inner)), name)
    rows = array_of(words(rng, other, (partitions, *inner)), other)
    indices = rng.permutation(30)[:partitions, np.newaxis].astype(np.uint32)
    numbers = indices[:, 0].tolist()
    got = dma_gather_add(rows, table, indices, oob="skip")
    assert flat_rows(got) == exact.dma_gather_add(flat_rows(rows), flat_rows(table), numbers, name, other, skip=True)
    got = dma_scatter_add(table, indices, rows, oob="skip")
    assert flat_rows(got) == exact.dma_scatter_add(flat_rows(table), numbers, flat_rows(rows), other, name, skip=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=2, max_size=4), st.sampled_from(["bf16", "uint16", "fp32", "int32"]), SEEDS)
def test_dma_transpose_is_the_exact_twin(shape, name, seed):
    codes = words(np.random.default_rng(seed), name, shape)
    got = dma_transpose(array_of(codes, name))
    assert got.shape == (shape[-1], *shape[1:-1], shape[0])
    assert codes_of(got).ravel().tolist() == exact.dma_transpose(codes.ravel().tolist(), shape)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([(16, 1), (48, 1), (128, 1), (128, 2)]),
    st.sampled_from([(3,), (2, 3), (1, 4, 3), (4, 1, 3), (1, 1, 1)]),
    st.integers(1, 40),
    SEEDS,
)
def test_dma_gather_transpose_is_the_exact_twin(tile, inner, height, seed):
    """Every rank; rows outside the source leave their elements of the destination."""
    rng = np.random.default_rng(seed)
    src = array_of(words(rng, "fp16", (height, *inner)), "fp16")
    indices = rng.integers(0, height + 3, tile).astype(np.uint32)
    count = 16 * int(rng.integers(1, indices.size // 16 + 1))
    dst = array_of(words(rng, "fp16", (inner[-1], *inner[:-1], count)), "fp16")
    got = dma_gather_transpose(src, indices, count, dst=dst, oob="skip")
    assert got.shape == dst.shape
    present = codes_of(dst).ravel().tolist()
    expected = exact.dma_gather_transpose(flat_rows(src), inner, indices.tolist(), count, present)
    assert codes_of(got).ravel().tolist() == expected
    inside = indices % height
    expected = exact.dma_gather_transpose(flat_rows(src), inner, inside.tolist(), count)
    assert codes_of(dma_gather_transpose(src, inside.astype(np.uint32), count)).ravel().tolist() == expected


def test_copies_by_hand():
    payload = np.array([[0x7FC1, 0xFF81]], np.uint16).view(ml_dtypes.bfloat16)
    assert codes_of(dma_copy(payload, (2, 1))).tolist() == [[0x7FC1], [0xFF81]]
    assert codes_of(dma_copy(payload, (2,), np.float32)).tolist() == [0x7FC00000] * 2
    assert dma_copy(np.array([16777217, -5], np.int32), (2,), np.uint32).tolist() == [16777216, 0]
    word = np.array([0x3F800001], np.uint32).view(np.float32)
    assert codes_of(dma_copy(word, (1,), source="tf32")).tolist() == [0x3F800001]
    assert codes_of(dma_copy(word, (1,), "tf32")).tolist() == [0x3F800000]
    assert not np.shares_memory(payload, dma_copy(payload, (2,)))
    table, none = np.full((2, 3), 300.0, np.float32), np.zeros((2, 3), np.int8)
    indices = np.array([[1], [7]], np.int32)
    assert dma_gather(none, table, indices, oob="skip").tolist() == [[127] * 3, [0] * 3]
    assert dma_scatter(table, indices, none, oob="skip").tolist() == [[300] * 3, [0] * 3]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"dtype": np.float32}, None),
        ({}, None),
        ({"dtype": np.float16}, "dge_mode must be one that takes a cast, not 'hwdge'"),
        ({"dtype": "tf32"}, "dge_mode must be one that takes a cast, not 'hwdge'"),
        ({"source": "tf32", "dtype": np.float32}, "dge_mode must be one that takes a cast, not 'hwdge'"),
        ({"source": "tf32"}, None),
        ({"source": "tf32", "dtype": "tf32"}, None),
    ],
)
def test_hwdge_casts_nothing(arguments, says):
    src = np.ones((2, 3), np.float32)
    dma_copy(src, (6,), **arguments)
    if says is None:
        assert dma_copy(src, (6,), dge_mode="hwdge", **arguments).size == 6
    else:
        with pytest.raises(ValueError, match=f"^{says}$"):
            dma_copy(src, (6,), dge_mode="hwdge", **arguments)


SRC = np.ones((2, 3), np.float32)
E3M4 = np.ones((2, 3), ml_dtypes.float8_e3m4)
INDICES = np.array([[0], [1]], np.uint32)


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: dma_copy(SRC, (5,)), ValueError, "shape must have src's 6 elements, not be (5,)"),
        (lambda: dma_copy(SRC, (-2, -3)), ValueError, "shape must have src's 6 elements, not be (-2, -3)"),
        (lambda: dma_copy(SRC * 1j, (6,)), TypeError, "src must be float32, "),
        (lambda: dma_copy(SRC, (6,), np.float64), TypeError, "dtype must be float32, "),
        (lambda: dma_scatter_add(E3M4, INDICES, SRC), TypeError, "table must be float32, "),
        (lambda: exact.dma_gather([[1]], [[1]], [1], "bf16", "bf16"), ValueError, "indices must be 0 to 0, not 1"),
        (
            lambda: exact.dma_gather([[1]], [[1]], [], "bf16", "bf16"),
            ValueError,
            "indices must have 1 elements, one for each row, not 0",
        ),
        (
            lambda: exact.dma_scatter_add([[1]], [0, 0], [[1], [2]], "bf16", "bf16"),
            ValueError,
            "indices must be unique, not [0, 0]",
        ),
        (lambda: exact.dma_transpose([1, 2], [2]), ValueError, "shape must have at least 2 axes, not 1"),
        (lambda: exact.dma_transpose([1, 2], [2, 2]), ValueError, "codes must have 4 elements, as shape says, not 2"),
        (
            lambda: exact.dma_gather_transpose([[1]], [1], [[1]], 1),
            ValueError,
            "indices must be 0 to 0, not 1",
        ),
        (
            lambda: exact.dma_gather_transpose([[1]], [1], [[0]], 2),
            ValueError,
            "column of indices must be 0 to 0, not 1",
        ),
        (
            lambda: exact.dma_gather_transpose([[1]], [1], [[0]], 1, [1, 2]),
            ValueError,
            "dst must have 1 elements, not 2",
        ),
    ],
)
def test_refuses(call, error, sentence):
    with pytest.raises(error, match=f"^{re.escape(sentence)}"):
        call()
