"""Row gather and scatter and the DMA transposes against plain statements and known answers."""

import re
from math import prod
from random import Random

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.trainium3 import (
    dma_gather,
    dma_gather_transpose,
    dma_scatter,
    dma_transpose,
    transpose_cycles,
)


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


@pytest.mark.parametrize(("error", "changes", "sentence"), WRONG_TRANSPOSES)
def test_transposes_refuse(error, changes, sentence):
    with pytest.raises(error, match=f"^{re.escape(sentence)}"):
        dma_transpose(**{"src": zeros(4, 4)} | changes)


INDICES = np.zeros((16, 1), np.uint32)
WRONG_GATHERS = [
    (TypeError, {"src": zeros(4, 4, dtype=np.float32)}, "src must have elements of 2 bytes, not float32"),
    (ValueError, {"src": zeros(4, 129)}, "src must have 1 to 128 columns and a row, not shape (4, 129)"),
    (ValueError, {"src": zeros(0, 4)}, "src must have 1 to 128 columns and a row, not shape (0, 4)"),
    (TypeError, {"indices": INDICES.astype(np.int32)}, "indices must be uint32, not int32"),
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
    (ValueError, {"indices": INDICES + np.uint32(4)}, "indices must be below the source's 4 rows, not 4"),
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
    good = {"src": zeros(4, 4), "indices": INDICES, "count": 16}
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
