"""nc_stream_shuffle, local_gather and nc_n_gather against their exact twins and by hand."""

import re

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.trainium3 import exact, local_gather, nc_n_gather, nc_stream_shuffle
from bitpath.golden.trainium3.declarations.vector import RUNS
from bitpath.verif.trainium3.engines.codes import bits

DTYPES = st.sampled_from([np.uint8, np.int16, ml_dtypes.bfloat16, ml_dtypes.float8_e3m4, np.float32, np.uint32])
SEEDS = st.integers(0, 2**32 - 1)


def words(rng, shape, dtype):
    """Any bits, NaN payloads among them."""
    size = np.dtype(dtype).itemsize
    return rng.integers(0, 1 << 8 * size, shape).astype(f"u{size}").view(dtype)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 128), st.integers(1, 4), DTYPES, SEEDS)
def test_nc_stream_shuffle_is_the_exact_twin(partitions, elements, dtype, seed):
    """Masks with 255; src has the partitions that the mask names, at least."""
    rng = np.random.default_rng(seed)
    mask = np.where(rng.random(32) < 0.3, 255, rng.integers(0, rng.integers(1, 33), 32)).tolist()
    named = [p - p % 32 + mask[p % 32] for p in range(partitions) if mask[p % 32] != 255]
    least = max(named, default=0) + 1
    dst = words(rng, (partitions, elements), dtype)
    src = words(rng, (int(rng.integers(least, 129)), elements), dtype)
    before = dst.copy()
    assert bits(nc_stream_shuffle(dst, src, mask)) == exact.nc_stream_shuffle(bits(dst), bits(src), mask)
    assert dst.tobytes() == before.tobytes()


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 8), st.integers(1, 4), st.sampled_from(RUNS), DTYPES, SEEDS)
def test_local_gather_is_the_exact_twin(cores, columns, run, dtype, seed):
    rng = np.random.default_rng(seed)
    elements = run + int(rng.integers(0, 40))
    data = words(rng, (16 * cores, elements), dtype)
    index = rng.integers(0, elements - run + 1, (16 * cores, columns)).astype(np.uint16)
    count = int(rng.integers(1, 16 * columns + 1))
    got = local_gather(data, index, run, count)
    assert bits(got) == exact.local_gather(bits(data), index.tolist(), run, count)
    assert got.dtype == data.dtype
    assert np.array_equal(bits(local_gather(data, index, run)), bits(local_gather(data, index, run, 16 * columns)))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 128), st.integers(1, 40), st.integers(1, 40), DTYPES, SEEDS)
def test_nc_n_gather_is_the_exact_twin(partitions, elements, count, dtype, seed):
    rng = np.random.default_rng(seed)
    data = words(rng, (partitions, elements), dtype)
    indices = rng.integers(0, elements, (partitions, count)).astype(np.uint32)
    expected = [exact.nc_n_gather(row, each) for row, each in zip(bits(data), indices.tolist(), strict=True)]
    assert bits(nc_n_gather(data, indices)) == expected


def test_shuffles_by_hand():
    column = np.arange(128, dtype=np.int32).reshape(128, 1)
    rotated = nc_stream_shuffle(column, column, [(i - 1) % 32 for i in range(32)])
    assert rotated[:, 0].tolist() == [p - p % 32 + (p - 1) % 32 for p in range(128)]
    broadcast = nc_stream_shuffle(column[:32] - 99, column[7:8], [0] * 32)
    assert broadcast[:, 0].tolist() == [7] * 32
    # A count of another GpSimd core comes to the first partition of its quadrant; the others stay.
    moved = nc_stream_shuffle(column, column, [16] + [255] * 31)
    assert moved[:, 0].tolist() == [p + 16 * (p % 32 == 0) for p in range(128)]
    # Entries of partitions that dst does not have are not used.
    assert nc_stream_shuffle(column[:2], column[:2], [1, 0] + [31] * 30)[:, 0].tolist() == [1, 0]


def test_each_core_gathers_by_its_own_indices():
    data = np.arange(32 * 8, dtype=np.float32).reshape(32, 8)
    index = np.zeros((32, 2), np.uint16)
    index[0, 1], index[16] = 5, (2, 3)
    got = local_gather(data, index, 2, 17)
    assert got.shape == (32, 34)
    assert got[3, [0, 1, 32, 33]].tolist() == [24, 25, 29, 30]
    assert got[17, [0, 1, 2, 3, 32, 33]].tolist() == [138, 139, 136, 137, 139, 140]


DST = np.zeros((4, 3), np.float32)
SHUFFLE = {"dst": DST, "src": DST, "shuffle_mask": [0] * 32}
LOCAL = {"src_buffer": np.zeros((32, 8), np.float32), "index": np.zeros((32, 2), np.uint16)}
EACH = {"data": DST, "indices": np.zeros((4, 5), np.uint32)}


@pytest.mark.parametrize(
    ("function", "good", "error", "changes", "sentence"),
    [
        (nc_stream_shuffle, SHUFFLE, TypeError, {"src": DST.astype(np.int32)}, "src must be float32, not int32"),
        (nc_stream_shuffle, SHUFFLE, TypeError, {"dst": DST.astype(np.float64)}, "dst must be float32, "),
        (
            nc_stream_shuffle,
            SHUFFLE,
            ValueError,
            {"src": DST[:, :2]},
            "src must have shape [P, 3] with dst's elements, not (4, 2)",
        ),
        (
            nc_stream_shuffle,
            SHUFFLE,
            ValueError,
            {"shuffle_mask": [0] * 31},
            "shuffle_mask must have 32 elements, not 31",
        ),
        *(
            (
                nc_stream_shuffle,
                SHUFFLE,
                ValueError,
                {"shuffle_mask": [0] * 31 + [entry]},
                f"shuffle_mask must hold 0 to 31 or 255, not {entry}",
            )
            for entry in (-1, 32, 254)
        ),
        (
            nc_stream_shuffle,
            SHUFFLE,
            ValueError,
            {"shuffle_mask": [4] * 32},
            "shuffle_mask must name partitions below src's 4, not 4",
        ),
        (local_gather, LOCAL, TypeError, {"index": np.zeros((32, 2), np.uint32)}, "index must be uint16, not uint32"),
        (
            local_gather,
            LOCAL,
            ValueError,
            {"src_buffer": np.zeros((24, 8), np.float32)},
            "src_buffer must have a multiple of 16 partitions, not 24",
        ),
        (
            local_gather,
            LOCAL,
            ValueError,
            {"index": np.zeros((16, 2), np.uint16)},
            "index must have shape [32, K] with src_buffer's partitions, not (16, 2)",
        ),
        (
            local_gather,
            LOCAL,
            ValueError,
            {"num_elem_per_idx": 3},
            "num_elem_per_idx must be 1, 2, 4, 8, 16 or 32, not 3",
        ),
        (
            local_gather,
            LOCAL,
            ValueError,
            {"num_valid_indices": 33},
            "num_valid_indices must be 1 to 32 with an index of 2 columns, not 33",
        ),
        (
            local_gather,
            LOCAL,
            ValueError,
            {"index": np.zeros((32, 257), np.uint16)},
            "num_valid_indices must be 1 to 4096 with an index of 257 columns, not 4112",
        ),
        (
            local_gather,
            LOCAL,
            ValueError,
            {"index": np.full((32, 2), 7, np.uint16), "num_elem_per_idx": 2},
            "index must start runs of 2 in src_buffer's 8 elements, not at 7",
        ),
        (nc_n_gather, EACH, TypeError, {"indices": np.zeros((4, 5), np.int32)}, "indices must be uint32, not int32"),
        (
            nc_n_gather,
            EACH,
            ValueError,
            {"indices": np.zeros((3, 5), np.uint32)},
            "indices must have shape [4, N] with data's partitions, not (3, 5)",
        ),
        (
            nc_n_gather,
            EACH,
            ValueError,
            {"indices": np.full((4, 5), 3, np.uint32)},
            "indices must be below data's 3 elements, not 3",
        ),
    ],
)
def test_refuses(function, good, error, changes, sentence):
    function(**good)
    with pytest.raises(error, match=f"^{re.escape(sentence)}"):
        function(**good | changes)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: exact.nc_stream_shuffle([[1]], [[1]], [1] * 32), "place in src must be 0 to 0, not 1"),
        (lambda: exact.nc_stream_shuffle([[1]], [[1]], [32] * 32), "shuffle_mask must be 0 to 31, not 32"),
        (lambda: exact.local_gather([[1]], [[1]], 1, 1), "place in row must be 0 to 0, not 1"),
        (lambda: exact.local_gather([[1]], [[0]], 1, 2), "place in index must be 0 to 0, not 1"),
        (
            lambda: exact.local_gather([[1]] * 16, [[0]] * 16, 1, 17),
            "place in index of a partition must be 0 to 0, not 1",
        ),
        (lambda: exact.nc_n_gather([], [0]), "row must have at least 1 element, not 0"),
        (lambda: exact.nc_n_gather([1, 2], [2]), "place in row must be 0 to 1, not 2"),
    ],
)
def test_the_exact_twins_refuse(call, says):
    with pytest.raises(ValueError, match=f"^{says}$"):
        call()
