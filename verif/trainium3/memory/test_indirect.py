"""Offsets, gather and scatter of columns, and scales out of quadrants, against plain loops and known answers."""

import re
from random import Random

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.trainium3 import fetch_scales, gather, indirect_offsets, scatter
from bitpath.golden.trainium3.declarations.memory import TRAINIUM3_INDIRECT, TRAINIUM3_INDIRECT_GROUPED, IndexLists

GROUPED = TRAINIUM3_INDIRECT_GROUPED.numerics
GROUP = {"vector": 16, "scalar": 16, "gpsimd": 16, "tensor": 32}


def words(rng, shape, dtype):
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    return np.frombuffer(rng.randbytes(size), dtype).reshape(shape).copy()


def test_the_guides_example():
    data = np.arange(128 * 512, dtype=np.uint32).reshape(128, 512)
    index = np.full((128, 1), 1000, np.uint32)
    index[:3, 0] = 0, 128, 384
    assert indirect_offsets(index, 3, engine="vector").tolist() == [0, 128, 384]
    assert np.array_equal(gather(data, index, 3, engine="vector"), data[:, [0, 128, 384]])


def test_offset_17_is_the_second_of_column_1():
    index = np.arange(64, dtype=np.uint16).reshape(32, 2)
    offsets = indirect_offsets(index, engine="scalar")
    assert len(offsets) == 32
    assert offsets[17] == index[1, 1]
    assert indirect_offsets(index, engine="tensor")[17] == index[17, 0]


@pytest.mark.parametrize("engine", list(GROUP))
@pytest.mark.parametrize("numerics", [TRAINIUM3_INDIRECT.numerics, GROUPED])
def test_columns_one_after_the_other(engine, numerics):
    """The definition, element by element; offsets repeat, so that the order of a scatter counts."""
    rng, group = Random(f"{engine} {numerics.lists}"), GROUP[engine]
    for _ in range(12):
        partitions, free, columns = rng.choice((group, 64, 128)), rng.randint(1, 20), rng.randint(1, 3)
        count = rng.randint(1, group * columns)
        dtype = rng.choice([np.uint8, ml_dtypes.bfloat16, np.uint32])
        data, src = words(rng, (partitions, free), dtype), words(rng, (partitions, count), dtype)
        index = np.array([[rng.randrange(free) for _ in range(columns)] for _ in range(partitions)], np.uint32)
        if numerics.lists is IndexLists.SHARED:
            index[group:] = 1 << 31  # must not be read
        gathered, scattered = np.empty((partitions, count), dtype), data.copy()
        for p in range(partitions):
            base = 0 if numerics.lists is IndexLists.SHARED else p - p % group
            for i in range(count):
                offset = index[base + i % group, i // group]
                gathered[p, i] = data[p, offset]
                scattered[p, offset] = src[p, i]
        assert gather(data, index, count, engine=engine, numerics=numerics).tobytes() == gathered.tobytes()
        assert scatter(data, index, src, engine=engine, numerics=numerics).tobytes() == scattered.tobytes()


def test_known_answers(kat):
    archive = kat("trn_core_gather.npz")
    for i, partitions, free, group, columns, count, bits in archive["meta"].tolist():
        engine = "tensor" if group == 32 else "vector"
        names = ("data", "index", "gathered", "scatter_src", "scattered")
        data, index, gathered, src, scattered = (archive[f"g{i}_{name}"] for name in names)
        assert (*data.shape, index.shape[1], count, 8 * data.itemsize) == (
            partitions,
            free,
            columns,
            src.shape[1],
            bits,
        )
        assert np.array_equal(gather(data, index, count, engine=engine), gathered)
        assert np.array_equal(scatter(data, index, src, engine=engine), scattered)


GOOD = {"data": np.zeros((32, 8), np.uint16), "index": np.zeros((32, 2), np.uint32), "num_elem": 3, "engine": "vector"}


@pytest.mark.parametrize(
    ("error", "changes", "sentence"),
    [
        (TypeError, {"index": np.zeros((32, 2), np.int32)}, "index must be uint32 or uint16, not int32"),
        (TypeError, {"data": np.zeros((32, 8))}, "data must be float32, "),
        (
            TypeError,
            {"data": np.zeros((32, 8), np.float32), "engine": "tensor"},
            "data must have 16 or 8 bits or be x4 words with engine 'tensor', not float32",
        ),
        (ValueError, {"engine": "pool"}, "engine must be 'vector', 'scalar', 'gpsimd' or 'tensor', not 'pool'"),
        (ValueError, {"num_elem": 33}, "num_elem must be 1 to 32 with an index of 2 columns, not 33"),
        (ValueError, {"num_elem": 0}, "num_elem must be 1 to 32 with an index of 2 columns, not 0"),
        (ValueError, {"index": np.zeros(32, np.uint32)}, "index must have shape [P, K], not (32,)"),
        (
            ValueError,
            {"index": np.zeros((15, 2), np.uint32)},
            "index must have shape [P, K] with P from 16 to 128 and K of at least 1, not (15, 2)",
        ),
        (
            ValueError,
            {"index": np.zeros((16, 2), np.uint32)},
            "index must have shape [32, K] with data's partitions, not (16, 2)",
        ),
        (
            ValueError,
            {"index": np.full((32, 2), 8, np.uint32)},
            "index must hold offsets below data's 8 columns, not 8",
        ),
        (
            ValueError,
            {"index": np.zeros((24, 1), np.uint32), "numerics": GROUPED},
            "index must have a multiple of 16 rows, not 24",
        ),
    ],
)
def test_gather_refuses(error, changes, sentence):
    gather(**GOOD)
    with pytest.raises(error, match=f"^{re.escape(sentence)}"):
        gather(**GOOD | changes)


@pytest.mark.parametrize(
    ("error", "src", "sentence"),
    [
        (TypeError, np.zeros((32, 3), np.int16), "src must be uint16, not int16"),
        (ValueError, np.zeros((31, 3), np.uint16), r"src must have shape \[32, num_elem\] with dst's partitions, not"),
        (ValueError, np.zeros((32, 0), np.uint16), "num_elem must be 1 to 32 with an index of 2 columns, not 0"),
    ],
)
def test_scatter_refuses(error, src, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        scatter(GOOD["data"], GOOD["index"], src, engine="vector")


def test_scales_for_each_row_of_the_array():
    """The rule by shifts, at every offset and partition count; rows that hold no scales are poison."""
    rng = Random(3)
    for offset in (0, 4, 8, 12):
        for partitions in (32, 64, 96, 128):
            tile = np.full((128, 3), 255, np.uint8)
            for quadrant in range(partitions // 32):
                for row in range(4):
                    tile[32 * quadrant + row + offset] = [rng.randrange(255) for _ in range(3)]
            expected = [tile[32 * (p >> 5) + (p >> 3 & 3) + offset] for p in range(partitions)]
            got = fetch_scales(tile, partitions, offset)
            assert np.array_equal(got, expected)
            assert 255 not in got
    # With offset 4: rows 0 to 7 take partition 4, 32 to 39 partition 36, 120 to 127 partition 103.
    tile = np.arange(128, dtype=np.uint8)[:, np.newaxis]
    fetched = fetch_scales(tile, 128, 4)[:, 0]
    assert [fetched[p] for p in (0, 7, 8, 24, 31, 32, 39, 120, 127)] == [4, 4, 5, 7, 7, 36, 36, 103, 103]


@pytest.mark.parametrize(
    ("error", "arguments", "sentence"),
    [
        (TypeError, (np.zeros((32, 2), np.int8), 32), "tile must be uint8, not int8"),
        (ValueError, (np.zeros(32, np.uint8), 32), "tile must have shape [P, F], not (32,)"),
        (
            ValueError,
            (np.zeros((32, 2), np.uint8), 48),
            "data_partitions must span 32, 64, 96 or 128 partitions, not 48",
        ),
        (ValueError, (np.zeros((32, 2), np.uint8), 64), "tile must span the data's 64 partitions, not 32"),
        (ValueError, (np.zeros((32, 2), np.uint8), 32, 5), "offset must be 0, 4, 8 or 12, not 5"),
    ],
)
def test_scales_refuse(error, arguments, sentence):
    with pytest.raises(error, match=f"^{re.escape(sentence)}"):
        fetch_scales(*arguments)
