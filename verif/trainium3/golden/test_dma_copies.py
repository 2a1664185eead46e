"""DMA copies, row gathers and scatters, and transposes: exact twins, plain statements and known answers."""

import re
from math import prod
from random import Random

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
    transpose_cycles,
)
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, container_bits
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES
from bitpath.verif.trainium3.dtype_words import array_of, codes_of, corners

# DMA copies, row gathers and scatters, and transposes against their exact twins.


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


# Row gather and scatter and the DMA transposes against plain statements and known answers.


def test_rows_by_hand():
    table = np.array([[10 * row, 10 * row + 1] for row in range(4)], np.uint16)
    before, indices = np.full((3, 2), 99, np.uint16), np.array([[2], [7], [0]], np.uint32)
    assert dma_gather(before, table, indices, oob="skip").tolist() == [[20, 21], [99, 99], [0, 1]]
    assert dma_scatter(table, indices, before, oob="skip").tolist() == [[99, 99], [10, 11], [99, 99], [30, 31]]
    for call in (lambda: dma_gather(before, table, indices), lambda: dma_scatter(table, indices, before)):
        with pytest.raises(ValueError, match=r"^indices must be below the table's 4 rows with oob 'error', not 7$"):
            call()


def test_rows_one_after_the_other():
    """Equal indices, negative ones, and rows with inner axes."""
    rng = Random(8)
    for _ in range(20):
        partitions, height, inner = rng.randint(1, 128), rng.randint(1, 30), rng.choice([(3,), (2, 2)])
        table, rows = (
            np.frombuffer(rng.randbytes(4 * count * prod(inner)), np.uint32).reshape(count, *inner)
            for count in (height, partitions)
        )
        indices = np.array([[rng.randint(-2, height + 2)] for _ in range(partitions)], np.int32)
        gathered, scattered = rows.copy(), table.copy()
        for p, (row,) in enumerate(indices.tolist()):
            if 0 <= row < height:
                gathered[p] = table[row]
                scattered[row] = rows[p]
        assert np.array_equal(dma_gather(rows, table, indices, oob="skip"), gathered)
        assert np.array_equal(dma_scatter(table, indices, rows, oob="skip"), scattered)


def test_known_answers_of_rows(kat):
    archive = kat("trn_core_gather.npz")
    table, indices = archive["row_table"], archive["row_idx"]
    got = dma_gather(archive["row_dst_before"], table, indices, oob="skip")
    assert np.array_equal(got, archive["row_dst_after"])
    got = dma_scatter(table, indices, archive["row_scatter_src"], oob="skip")
    assert np.array_equal(got, archive["row_table_after"])
    assert (indices >= len(table)).any()


def test_known_answers_of_transposes(kat):
    archive = kat("trn_core_transpose.npz")
    cases = [name.removesuffix("_axes") for name in archive if re.fullmatch(r"dma\d+_axes", name)]
    for case in cases:
        got = dma_transpose(archive[f"{case}_src"], archive[f"{case}_axes"].tolist())
        assert np.array_equal(got, archive[f"{case}_dst"])
        assert got.flags.c_contiguous
    cases_of_rows = [name.removesuffix("_idx") for name in archive if re.fullmatch(r"ind\d+_idx", name)]
    for case in cases_of_rows:
        got = dma_gather_transpose(archive[f"{case}_src"], archive[f"{case}_idx"], int(archive[f"{case}_n"]))
        assert np.array_equal(got, archive[f"{case}_dst"])
    assert len(cases) > 4
    assert len(cases_of_rows) > 1


@pytest.mark.parametrize("shape", [(16, 40), (4, 8, 3), (2, 3, 8, 5)])
@pytest.mark.parametrize("dtype", [np.uint16, np.float32])
def test_first_and_last_axis_change_places(shape, dtype):
    src = np.frombuffer(Random(1).randbytes(prod(shape) * np.dtype(dtype).itemsize), dtype).reshape(shape)
    got = dma_transpose(src)
    assert got.dtype == dtype
    for place in np.ndindex(shape):
        first, *middle, last = place
        assert got[last, *middle, first].tobytes() == src[place].tobytes()


def test_indices_go_down_their_columns():
    src = np.arange(300 * 4, dtype=np.uint16).reshape(300, 4)
    indices = np.arange(256, dtype=np.uint32).reshape(128, 2)
    got = dma_gather_transpose(src, indices, 144)
    flat = [int(indices[i % 128, i // 128]) for i in range(144)]
    assert got.tolist() == [[int(src[row, c]) for row in flat] for c in range(4)]


@pytest.mark.parametrize(
    ("shape", "itemsize", "source", "cycles"),
    [
        ((512, 128), 2, "hbm", 331),
        ((512, 128), 2, "sbuf", 596),
        ((16, 128), 2, "hbm", 11),  # one tile: ceil(4096 / 396)
        ((1, 1), 2, "hbm", 11),
        ((17, 129), 2, "sbuf", 75),  # four tiles: ceil(4 * 4096 / 220)
        ((16, 3, 64), 4, "hbm", 63),  # three tiles of 8192 bytes
        ((4, 2, 16, 32), 2, "hbm", 83),  # eight tiles
    ],
)
def test_times(shape, itemsize, source, cycles):
    assert transpose_cycles(shape, itemsize, source=source) == cycles


def zeros(*shape, dtype=np.uint16):
    return np.zeros(shape, dtype)


@pytest.mark.parametrize("shape", [(16, 128), (16, 1), (1, 16, 128), (8, 6, 4), (4, 5, 4, 3), (16, 1, 1, 1)])
def test_hwdge_takes(shape):
    assert dma_transpose(zeros(*shape), dge_mode="hwdge").size == prod(shape)


WRONG_TRANSPOSES = [
    (TypeError, {"src": zeros(4, 4, dtype=np.uint8)}, "src must have elements of 2 or 4 bytes, not uint8"),
    (ValueError, {"src": zeros(4)}, "src must have 2 to 4 axes and elements, not shape (4,)"),
    (ValueError, {"src": zeros(4, 0)}, "src must have 2 to 4 axes and elements, not shape (4, 0)"),
    (ValueError, {"axes": (0, 1)}, "axes must be (1, 0) with 2 axes, not (0, 1)"),
    (ValueError, {"dge_mode": "host"}, "dge_mode must be 'unknown', 'hwdge', 'swdge' or 'none', not 'host'"),
    *(
        (error, {"src": src, "dge_mode": "hwdge"}, sentence)
        for error, src, sentence in (
            (TypeError, zeros(16, 4, dtype=np.float32), "src must have elements of 2 bytes with dge_mode 'hwdge', not"),
            (ValueError, zeros(16, 129), "src must have a last axis of at most 128 with dge_mode 'hwdge', not 129"),
            (ValueError, zeros(15, 4), "src must have 16 rows with dge_mode 'hwdge', not 15"),
            (ValueError, zeros(3, 16, 4), "src must have a first axis of 1, 2, 4, 8 or 16 that makes a multiple of 16"),
            (ValueError, zeros(8, 3, 4), "src must have a first axis of 1, 2, 4, 8 or 16 that makes a multiple of 16"),
        )
    ),
]


def test_transposes_refuse(subtests):
    for error, changes, sentence in WRONG_TRANSPOSES:
        with subtests.test(sentence), pytest.raises(error, match=f"^{re.escape(sentence)}"):
            dma_transpose(**{"src": zeros(4, 4)} | changes)


GATHER_INDICES = np.zeros((16, 1), np.uint32)
WRONG_GATHERS = [
    (TypeError, {"src": zeros(4, 4, dtype=np.float32)}, "src must have elements of 2 bytes, not float32"),
    (ValueError, {"src": zeros(4, 129)}, "src must have 1 to 128 columns and a row, not shape (4, 129)"),
    (ValueError, {"src": zeros(0, 4)}, "src must have 1 to 128 columns and a row, not shape (0, 4)"),
    (TypeError, {"indices": GATHER_INDICES.astype(np.int32)}, "indices must be uint32, not int32"),
    *(
        (
            ValueError,
            {"indices": np.zeros(shape, np.uint32)},
            "indices must have a multiple of 16 rows up to 128, and 128 with several columns, not shape",
        )
        for shape in ((15, 1), (144, 1), (0, 1), (16, 0), (64, 2))
    ),
    (ValueError, {"count": 17}, "count must be 16 to 16 with these indices, not 17"),
    (
        ValueError,
        {"indices": np.zeros((128, 2), np.uint32), "count": 40},
        "count must be a multiple of 16, not 40",
    ),
    (
        ValueError,
        {"indices": GATHER_INDICES + np.uint32(4)},
        "indices must be below the source's 4 rows, not 4",
    ),
    (ValueError, {"src": zeros(4)}, "src must have 2 to 4 axes, with 4 a middle one of 1, not shape (4,)"),
    (
        ValueError,
        {"src": zeros(4, 2, 2, 4)},
        "src must have 2 to 4 axes, with 4 a middle one of 1, not shape (4, 2, 2, 4)",
    ),
    (ValueError, {"oob": "drop"}, "oob must be 'error' or 'skip', not 'drop'"),
    (TypeError, {"oob": "skip"}, "dst must be an array with oob 'skip', not None"),
    (TypeError, {"oob": "skip", "dst": zeros(4, 16, dtype=np.int16)}, "dst must be uint16, not int16"),
    (
        ValueError,
        {"oob": "skip", "dst": zeros(16, 4)},
        "dst must have shape [4, 16], that of the result, not (16, 4)",
    ),
]


@pytest.mark.parametrize(("error", "changes", "sentence"), WRONG_GATHERS)
def test_gather_transposes_refuse(error, changes, sentence):
    good = {"src": zeros(4, 4), "indices": GATHER_INDICES, "count": 16}
    dma_gather_transpose(**good)
    with pytest.raises(error, match=f"^{re.escape(sentence)}"):
        dma_gather_transpose(**good | changes)


@pytest.mark.parametrize(
    ("shape", "changes", "sentence"),
    [
        ((4,), {}, "shape must have 2 to 4 axes of at least 1, not (4,)"),
        ((4, 0), {}, "shape must have 2 to 4 axes of at least 1, not (4, 0)"),
        ((4, 4), {"itemsize": 1}, "itemsize must be 2 or 4, not 1"),
        ((4, 4), {"source": "psum"}, "source must be 'hbm' or 'sbuf', not 'psum'"),
    ],
)
def test_times_refuse(shape, changes, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        transpose_cycles(shape, **{"itemsize": 2} | changes)


@pytest.mark.parametrize(
    ("error", "changes", "sentence"),
    [
        (TypeError, {"dst": zeros(3, 4, dtype=np.float64)}, "dst must be float32, bfloat16, "),
        (
            TypeError,
            {"table": zeros(4, 4, dtype=ml_dtypes.float8_e3m4)},
            "dst must be float8_e3m4, not float32",
        ),
        (TypeError, {"indices": zeros(3, 1, dtype=np.int64)}, "indices must be uint32 or int32, not int64"),
        (ValueError, {"oob": "drop"}, "oob must be 'error' or 'skip', not 'drop'"),
        (ValueError, {"table": zeros(4, dtype=np.float32)}, "table must have at least 2 axes, not 1"),
        (
            ValueError,
            {"dst": zeros(3, 5, dtype=np.float32)},
            "dst must have shape [P, 4] with the table's rows, not (3, 5)",
        ),
        (
            ValueError,
            {"dst": zeros(129, 4, dtype=np.float32)},
            "dst must span 1 to 128 partitions, not 129",
        ),
        (
            ValueError,
            {"indices": zeros(4, 1, dtype=np.uint32)},
            "indices must have shape [3, 1] with dst's partitions, not (4, 1)",
        ),
        (ValueError, {"indices": np.full((3, 1), -1, np.int32)}, "indices must be below the table's 5 rows with oob"),
    ],
)
def test_rows_refuse(error, changes, sentence):
    good = {
        "dst": zeros(3, 4, dtype=np.float32),
        "table": zeros(5, 4, dtype=np.float32),
        "indices": zeros(3, 1, dtype=np.uint32),
    }
    dma_gather(**good)
    with pytest.raises(error, match=f"^{re.escape(sentence)}"):
        dma_gather(**good | changes)
