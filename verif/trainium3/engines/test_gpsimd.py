"""nonzero_with_count and tensor_partition_reduce against their exact twins and by hand."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.trainium3 import exact, nonzero_with_count, tensor_partition_reduce
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, container_bits
from bitpath.golden.trainium3.declarations.vector import PARTITION_REDUCTIONS, SumOrder
from bitpath.verif.trainium3.engines.codes import bits, destination, draw, tile

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
def test_refuses(call, error, sentence):
    with pytest.raises(error, match=f"^{re.escape(sentence)}"):
        call()
