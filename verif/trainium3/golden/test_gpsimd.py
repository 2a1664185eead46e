"""GpSimd: counts, partitions, topk, gathers and affine patterns, against their exact twins and by hand."""

import re

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.trainium3 import (
    affine_select,
    exact,
    iota,
    local_gather,
    nc_n_gather,
    nc_stream_shuffle,
    nonzero_with_count,
    sequence_bounds,
    tensor_partition_reduce,
    topk,
)
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, container_bits
from bitpath.golden.trainium3.declarations.vector import COMPARISONS, PARTITION_REDUCTIONS, RUNS, SumOrder
from bitpath.golden.trainium3.exact import affine_select as exact_affine_select
from bitpath.golden.trainium3.exact import iota as exact_iota
from bitpath.verif.trainium3.dtype_words import SPECIALS, bits, destination, draw, tile

# nonzero_with_count and tensor_partition_reduce against their exact twins and by hand.


SEEDS = st.integers(0, 2**32 - 1)
FLAT = [name for name in FORMATS if name != "tf32"]
INTEGERS = [name for name in FORMATS if "int" in name]
ARITHMETIC = PARTITION_REDUCTIONS[:3]
WORDS = st.one_of(st.integers(-20, 20), st.integers(-(2**31), 2**31 - 1))


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 128), st.integers(1, 30), st.sampled_from(["fp32", "int32"]), WORDS, WORDS, SEEDS)
def test_nonzero_with_count_is_the_exact_twin(partitions, elements, name, offset, padding, seed):
    """Zeros of both signs, NaN and subnormals among the elements; other rows keep their content."""
    rng = np.random.default_rng(seed)
    codes = np.where(rng.random((partitions, elements)) < 0.4, 0, draw(rng, name, (partitions, elements)))
    dst = rng.integers(0, 1 << 31, (partitions, elements + 1)).astype(np.int32)
    got = nonzero_with_count(dst, tile(name, codes), index_offset=offset, padding_val=padding)
    expected = [
        exact.nonzero_with_count(codes[p].tolist(), name, offset, padding) if p % 16 == 0 else row
        for p, row in enumerate(bits(dst))
    ]
    assert bits(got) == expected


def test_nonzero_by_hand():
    row = np.array([[0, 1, 1, 0, 0, 1, 0, 0]], np.int32)
    assert nonzero_with_count(np.zeros((1, 9), np.int32), row, index_offset=16).tolist() == [
        [17, 18, 21, -1, -1, -1, -1, -1, 3]
    ]
    row = np.array([[0.0, -0.0, np.nan, 1e-45, -np.inf]], np.float32)
    got = nonzero_with_count(np.zeros((1, 6), np.int32), row, index_offset=2**31 - 3, padding_val=9)
    assert got.tolist() == [[2**31 - 1, -(2**31), -(2**31) + 1, 9, 9, 3]]


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 128),
    st.sampled_from(ARITHMETIC),
    st.sampled_from(FLAT),
    st.sampled_from(list(FORMATS)),
    st.sampled_from(SumOrder),
    SEEDS,
)
def test_reductions_are_the_exact_twin(partitions, op, source, name, order, seed):
    codes = draw(np.random.default_rng(seed), source, (partitions, 3))
    got = tensor_partition_reduce(tile(source, codes), op, dtype=destination(name), sum_order=order.value)
    columns = codes.T.tolist()
    assert bits(got) == [[exact.tensor_partition_reduce(each, source, op, name, order) for each in columns]]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 128), st.floats(-100, 100, width=32), st.sampled_from(["fp32", "bf16", "int32"]), SEEDS)
def test_averages_of_numbers_near_each_other(partitions, centre, source, seed):
    """Finite sums: quotients by every count of partitions."""
    rng = np.random.default_rng(seed)
    values = rng.normal(centre, 3, (partitions, 4)).astype(np.float32)
    codes = np.array([[exact.cast(code, "fp32", source) for code in row] for row in bits(values)])
    got = tensor_partition_reduce(tile(source, codes), "average")
    columns = codes.T.tolist()
    assert bits(got) == [[exact.tensor_partition_reduce(each, source, "average", "fp32") for each in columns]]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 128), st.sampled_from(PARTITION_REDUCTIONS[3:]), st.sampled_from(INTEGERS), SEEDS)
def test_bit_reductions_are_the_exact_twin(partitions, op, name, seed):
    rng = np.random.default_rng(seed)
    size = 1 << container_bits(name)
    # Few zeros for "and", few ones for "or".
    words = [rng.integers(0, size, (partitions, 3)) for _ in range(4)]
    codes = np.bitwise_or.reduce(words) if op == "bitwise_and" else np.bitwise_and.reduce(words)
    expected = [[exact.tensor_partition_reduce(each, name, op, name) for each in codes.T.tolist()]]
    assert bits(tensor_partition_reduce(tile(name, codes), op)) == expected
    unsigned = f"uint{container_bits(name)}"
    got = tensor_partition_reduce(tile(name, codes), op, dtype=destination(unsigned))
    assert (bits(got), got.dtype) == (expected, np.dtype(unsigned))


def test_partitions_are_added_from_the_first_on():
    column = np.array([[3e38], [3e38], [-3e38]], np.float32)
    assert tensor_partition_reduce(column, "add").tolist() == [[np.inf]]
    assert tensor_partition_reduce(column, "add", sum_order="exact").tolist() == [[column[0, 0]]]
    assert tensor_partition_reduce(column[1:], "add").tolist() == [[0]]
    thirds = tensor_partition_reduce(np.array([[1], [0], [0]], np.int8), "average")
    assert bits(thirds) == [[0x3EAAAAAB]]
    assert np.signbit(tensor_partition_reduce(np.full((3, 1), -0.0, np.float32), "average")).all()
    assert tensor_partition_reduce(np.array([[1, 5], [4, 2]], np.int8), "max", dtype=np.int8).tolist() == [[4, 5]]


ROWS = np.zeros((4, 3), np.int32)


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: nonzero_with_count(ROWS, ROWS), ValueError, "dst must have shape [4, 4], src's partitions and an"),
        (lambda: nonzero_with_count(ROWS, ROWS[:, :2] > 0), TypeError, "src must be float32 or int32, not bool"),
        (lambda: nonzero_with_count(ROWS.astype(np.uint32), ROWS[:, :2]), TypeError, "dst must be int32, not uint32"),
        (
            lambda: nonzero_with_count(ROWS, ROWS[:, :2], index_offset=2**31),
            ValueError,
            "index_offset must be -2147483648 to 2147483647, not 2147483648",
        ),
        (
            lambda: nonzero_with_count(ROWS, ROWS[:, :2], padding_val=-(2**31) - 1),
            ValueError,
            "padding_val must be -2147483648 to 2147483647, not -2147483649",
        ),
        (
            lambda: tensor_partition_reduce(ROWS, "min"),
            ValueError,
            "op must be 'add', 'average', 'max', 'bitwise_and' or 'bitwise_or', not 'min'",
        ),
        (lambda: tensor_partition_reduce(ROWS, "add", sum_order="tree"), ValueError, "sum_order must be 'serial' or"),
        (lambda: tensor_partition_reduce(ROWS * 1.0, "add"), TypeError, "data must be float32, "),
        (
            lambda: tensor_partition_reduce(ROWS.astype(np.float32), "bitwise_or"),
            TypeError,
            "data must be int8, int16, int32, uint8, uint16 or uint32, not float32",
        ),
        (
            lambda: tensor_partition_reduce(ROWS, "bitwise_or", dtype=np.int16),
            TypeError,
            "dtype must be int32 or uint32, not int16",
        ),
        (
            lambda: exact.tensor_partition_reduce([1], "int8", "bitwise_or", "int16"),
            ValueError,
            "bitwise_or takes integers of one size, not int8 and int16",
        ),
        (
            lambda: exact.tensor_partition_reduce([1], "fp32", "bitwise_or", "int32"),
            ValueError,
            "bitwise_or takes integers of one size, not fp32 and int32",
        ),
        (
            lambda: exact.tensor_partition_reduce([], "fp32", "add", "fp32"),
            ValueError,
            "column must have at least 1 element, not 0",
        ),
        (
            lambda: exact.nonzero_with_count([1], "bf16", 0, 0),
            ValueError,
            "source must be 'fp32' or 'int32', not 'bf16'",
        ),
    ],
)
def test_refuses_of_gpsimd(call, error, sentence):
    with pytest.raises(error, match=f"^{re.escape(sentence)}"):
        call()


# topk and sequence_bounds against their exact twins and by hand.


BFLOAT = np.dtype(ml_dtypes.bfloat16)


def snake(rows, core):
    """Return a core's elements, one after the other."""
    return [rows[16 * core + p][column] for column in range(len(rows[0])) for p in range(16)]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 8), st.integers(8, 70), SEEDS)
def test_topk_is_the_exact_twin(cores, n, seed):
    """Ties, NaN, infinities and zeros of both signs; destinations keep what lies behind the results."""
    rng = np.random.default_rng(seed)
    columns, k = -(-n // 16) + int(rng.integers(0, 2)), int(rng.integers(1, n + 1))
    codes = draw(rng, "bf16", (16 * cores, columns))
    repeated = rng.choice(codes.ravel(), codes.shape)
    codes = np.where(rng.random(codes.shape) < 0.5, codes, repeated)
    val_dst = tile("bf16", rng.integers(0, 1 << 16, (16 * cores, k)))
    idx_dst = rng.integers(0, 1 << 32, (16 * cores, k)).astype(np.uint32)
    values, places = topk(val_dst, idx_dst, tile("bf16", codes), n)
    assert (values.dtype, places.dtype) == (BFLOAT, np.uint32)
    for core in range(cores):
        expected = exact.topk(snake(codes.tolist(), core)[:n], k)
        for got, dst, results in zip((values, places), (val_dst, idx_dst), expected, strict=True):
            assert snake(bits(got), core) == results + snake(bits(dst), core)[k:]


def test_topk_by_hand():
    """The places of the two cores are their own; of three equal numbers the first two are taken."""
    src = np.zeros((32, 2), BFLOAT)
    src[[3, 2, 9], [0, 1, 0]] = 5, 5, 5  # places 3, 18 and 9
    src[16 + 4, 1], src[16, 0], src[16 + 5, 1] = 1, -0.0, 99  # places 20, 0, and 21 which is beyond n
    values, places = topk(np.full((32, 2), 7, BFLOAT), np.full((32, 2), 7, np.uint32), src, 21)
    assert (values[:3, 0].tolist(), places[:3, 0].tolist()) == ([5, 5, 7], [9, 3, 7])
    assert (values[16:18, 0].tolist(), places[16:18, 0].tolist()) == ([0, 1], [0, 20])
    assert np.signbit(values[16, 0])
    assert (values[:, 1] == 7).all()


def test_topk_of_as_many_as_it_takes():
    """All BF16 codes but one: the upper half ascends to infinity, and NaN follow."""
    codes = np.random.default_rng(1).permutation(1 << 16)[:65535]
    src = np.append(codes, 0).reshape(4096, 16).T
    count = 32767
    values, places = topk(np.zeros((16, count), BFLOAT), np.zeros((16, count), np.uint32), tile("bf16", src), 65535)
    got = values.view(np.uint16).T.ravel()[:count]
    assert np.array_equal(got, codes[places.T.ravel()[:count]])
    assert len({*got.tolist()}) == count
    numbers = (got.astype(np.uint32) << 16).view(np.float32)
    nans = int((codes & 0x7FFF > 0x7F80).sum())
    assert np.isnan(numbers[-nans:]).all()
    assert numbers[-nans - 1] == np.inf
    assert (numbers[1:-nans] >= numbers[: -nans - 1]).all()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 6)), min_size=1, max_size=12), st.booleans(), st.booleans())
def test_sequence_bounds_is_the_exact_twin(runs, of_floats, to_floats):
    segments = [segment for segment, length in runs for _ in range(length)]
    dtypes = [np.dtype(np.float32 if floats else np.int32) for floats in (of_floats, to_floats)]
    got = sequence_bounds(np.array([segments], dtypes[0]), dtype=dtypes[1])
    assert (got.dtype, got.shape) == (dtypes[1], (1, 2, len(segments)))
    assert got[0].tolist() == [*exact.sequence_bounds(segments)]


def test_sequence_bounds_by_hand():
    segments = np.array([[0, 1, 1, 2, 2, 2, 0, 3, 3]], np.int32)
    expected = [[9, 1, 1, 3, 3, 3, 9, 7, 7], [-1, 3, 3, 6, 6, 6, -1, 9, 9]]
    assert sequence_bounds(segments).tolist() == [expected]
    again = sequence_bounds(np.array([[2, 2, 1, 2]], np.float32))
    assert (again.dtype, again.tolist()) == (np.float32, [[[0, 0, 2, 3], [2, 2, 3, 4]]])
    assert sequence_bounds(np.array([[-0.0, 1e38]], np.float32)).tolist() == [[[2, 1], [-1, 2]]]
    assert sequence_bounds(np.array([[2**31 - 1, 2**31 - 2]], np.int32)).tolist() == [[[0, 1], [1, 2]]]


TOPK = {
    "val_dst": np.zeros((32, 4), BFLOAT),
    "idx_dst": np.zeros((32, 4), np.uint32),
    "src": np.zeros((32, 2), BFLOAT),
    "n": 20,
}
BOUNDS = {"segment_ids": np.ones((1, 4), np.float32)}


@pytest.mark.parametrize(
    ("function", "good", "error", "changes", "sentence"),
    [
        (topk, TOPK, TypeError, {"src": np.zeros((32, 2), np.float32)}, "src must be bfloat16, not float32"),
        (topk, TOPK, ValueError, {"src": np.zeros((24, 2), BFLOAT)}, "src must have a multiple of 16 partitions, not"),
        (topk, TOPK, ValueError, {"n": 7}, "n must be 8 to 65535, not 7"),
        (topk, TOPK, ValueError, {"n": 65536}, "n must be 8 to 65535, not 65536"),
        (topk, TOPK, ValueError, {"n": 33}, "src must have at least 3 columns with n 33, not 2"),
        (topk, TOPK, TypeError, {"val_dst": np.zeros((32, 4), np.float32)}, "val_dst must be bfloat16, not float32"),
        (topk, TOPK, TypeError, {"idx_dst": np.zeros((32, 4), np.int32)}, "idx_dst must be uint32, not int32"),
        (
            topk,
            TOPK,
            ValueError,
            {"val_dst": np.zeros((16, 4), BFLOAT)},
            "val_dst must have shape [32, K] with src's partitions, not (16, 4)",
        ),
        (
            topk,
            TOPK,
            ValueError,
            {"idx_dst": np.zeros((32, 5), np.uint32)},
            "idx_dst must have shape [32, 4], that of val_dst, not (32, 5)",
        ),
        (
            topk,
            TOPK,
            ValueError,
            {"val_dst": np.zeros((32, 21), BFLOAT)},
            "number of columns of val_dst must be 1 to 20 with n 20, not 21",
        ),
        (
            sequence_bounds,
            BOUNDS,
            ValueError,
            {"segment_ids": np.ones((2, 4), np.int32)},
            "segment_ids must have shape [1, n], not (2, 4)",
        ),
        (
            sequence_bounds,
            BOUNDS,
            TypeError,
            {"segment_ids": np.ones((1, 4), np.int8)},
            "segment_ids must be float32 or int32, not int8",
        ),
        (sequence_bounds, BOUNDS, TypeError, {"dtype": np.int8}, "dtype must be float32 or int32, not int8"),
        *(
            (
                sequence_bounds,
                BOUNDS,
                ValueError,
                {"segment_ids": np.array([[1, number]], np.float32)},
                f"segment_ids must be whole numbers of at least 0, not {number}",
            )
            for number in (-1.0, 0.5, np.inf, np.nan)
        ),
    ],
)
def test_refuses_of_topk(function, good, error, changes, sentence):
    function(**good)
    with pytest.raises(error, match=f"^{re.escape(sentence)}"):
        function(**good | changes)


@pytest.mark.parametrize(("elements", "k"), [([1, 2], 3), ([1, 2], 0)])
def test_the_exact_topk_refuses(elements, k):
    with pytest.raises(ValueError, match=f"^k must be 1 to 2, not {k}$"):
        exact.topk(elements, k)


# nc_stream_shuffle, local_gather and nc_n_gather against their exact twins and by hand.


DTYPES = st.sampled_from([np.uint8, np.int16, ml_dtypes.bfloat16, ml_dtypes.float8_e3m4, np.float32, np.uint32])


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
def test_refuses_of_gathers(function, good, error, changes, sentence):
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


# iota and affine_select against their exact twins and by hand.


NAMES = st.sampled_from(list(FORMATS))
PATTERNS = st.lists(st.tuples(WORDS, st.integers(1, 5)), min_size=1, max_size=4)


@settings(max_examples=150, deadline=None)
@given(PATTERNS, st.integers(1, 8), WORDS, WORDS, NAMES)
def test_iota_is_the_exact_twin(pattern, partitions, offset, multiplier, name):
    got = iota(pattern, partitions, offset=offset, channel_multiplier=multiplier, dtype=destination(name))
    assert bits(got) == [exact_iota(pattern, p, offset, multiplier, name) for p in range(partitions)]


@settings(max_examples=150, deadline=None)
@given(
    PATTERNS,
    st.integers(1, 6),
    st.integers(-30, 30),
    WORDS,
    st.sampled_from(FLAT),
    st.one_of(st.none(), NAMES),
    st.sampled_from(COMPARISONS),
    st.sampled_from(SPECIALS),
    st.integers(0, 2**32 - 1),
)
def test_affine_select_is_the_exact_twin(pattern, partitions, offset, multiplier, source, name, op, number, seed):
    shape = partitions, int(np.prod([num for _, num in pattern]))
    codes = draw(np.random.default_rng(seed), source, shape)
    got = affine_select(
        pattern,
        multiplier,
        tile(source, codes),
        np.uint32(number).view(np.float32),
        op,
        offset=offset,
        dtype=None if name is None else destination(name),
    )
    assert bits(got) == [
        exact_affine_select(pattern, p, offset, multiplier, row, source, number, op, name or source)
        for p, row in enumerate(codes.tolist())
    ]


def test_iota_by_hand():
    assert iota([(1, 4)], 2, offset=5, channel_multiplier=10).tolist() == [[5, 6, 7, 8], [15, 16, 17, 18]]
    assert iota([(100, 2), (-1, 3)], 1).tolist() == [[0, -1, -2, 100, 99, 98]]
    assert iota([(0, 3)], 1, offset=-1, dtype=np.uint8).tolist() == [[0, 0, 0]]  # saturates
    assert iota([(0, 1)], 1, offset=-1, dtype=np.uint32).tolist() == [[2**32 - 1]]
    assert iota([(1, 2)], 1, offset=2**31 - 1).tolist() == [[2**31 - 1, -(2**31)]]
    assert iota([(1, 2)], 1, offset=2**24, dtype=np.uint32).tolist() == [[2**24, 2**24 + 1]]
    assert iota([(1, 2)], 1, offset=2**24, dtype=np.float32).tolist() == [[2**24, 2**24]]


def test_a_causal_mask():
    """Row p keeps columns up to p; NaN payloads of a tile that keeps its dtype stay."""
    scores = np.full((4, 4), 0x7FC1, np.uint16).view(ml_dtypes.bfloat16)
    got = affine_select([(-1, 4)], 1, scores, -np.inf, "greater_equal")
    assert bits(got) == [[0x7FC1 if column <= row else 0xFF80 for column in range(4)] for row in range(4)]
    got = affine_select([(-1, 4)], 1, scores, 1e-3, "greater_equal", dtype=np.float16)
    assert bits(got) == [[0x7E00 if column <= row else 0x1419 for column in range(4)] for row in range(4)]
    assert bits(affine_select([(0, 4)], 0, scores, np.nan, "less", dtype=np.float32)) == [[0x7FC00000] * 4] * 4


GOOD = {
    "pattern": [(1, 4)],
    "channel_multiplier": 0,
    "on_true_tile": np.ones((2, 4), np.float32),
    "on_false_value": 0.0,
}


@pytest.mark.parametrize(
    ("error", "changes", "sentence"),
    [
        (ValueError, {"pattern": []}, "pattern must have 1 to 4 pairs of step and num, not 0"),
        (ValueError, {"pattern": [(1, 1)] * 5}, "pattern must have 1 to 4 pairs of step and num, not 5"),
        (ValueError, {"pattern": [(2**31, 4)]}, "step of pattern[0] must be -2147483648 to 2147483647, not 2147483648"),
        (ValueError, {"pattern": [(1, 0)]}, "num of pattern[0] must be 1 to 262144, not 0"),
        (
            ValueError,
            {"pattern": [(1, 2**18), (1, 2)]},
            "number of elements in pattern must be 1 to 262144, not 524288",
        ),
        (ValueError, {"pattern": [(1, 5)]}, "pattern must have on_true_tile's 4 elements, not 5"),
        (ValueError, {"offset": 2**31}, "offset must be -2147483648 to 2147483647, not 2147483648"),
        (ValueError, {"channel_multiplier": 2**31}, "channel_multiplier must be -2147483648 to 2147483647, not"),
        (ValueError, {"cmp_op": "max"}, "cmp_op must be 'equal', 'not_equal', 'greater', 'greater_equal', 'less' or"),
        (TypeError, {"on_false_value": np.ones((2, 1))}, "on_false_value must be a number, not a ndarray"),
        (TypeError, {"on_true_tile": np.ones((2, 4))}, "on_true_tile must be float32, "),
        (ValueError, {"on_true_tile": np.ones(4, np.float32)}, "on_true_tile must have shape [P, F] with P from 1 to"),
        (TypeError, {"dtype": np.float64}, "dtype must be float32, "),
    ],
)
def test_affine_select_refuses(error, changes, sentence):
    affine_select(**GOOD)
    with pytest.raises(error, match=f"^{re.escape(sentence)}"):
        affine_select(**GOOD | changes)


@pytest.mark.parametrize("partitions", [0, 129])
def test_iota_refuses(partitions):
    with pytest.raises(ValueError, match=f"^partitions must be 1 to 128, not {partitions}$"):
        iota([(1, 4)], partitions)
    with pytest.raises(ValueError, match=r"^row must have 4 elements, one for each place of pattern, not 3$"):
        exact_affine_select([(1, 4)], 0, 0, 0, [0] * 3, "fp32", 0, "equal", "fp32")
