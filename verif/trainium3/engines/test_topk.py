"""topk and sequence_bounds against their exact twins and by hand."""

import re

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.trainium3 import exact, sequence_bounds, topk
from bitpath.verif.trainium3.engines.codes import bits, draw, tile

SEEDS = st.integers(0, 2**32 - 1)
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
def test_refuses(function, good, error, changes, sentence):
    function(**good)
    with pytest.raises(error, match=f"^{re.escape(sentence)}"):
        function(**good | changes)


@pytest.mark.parametrize(("elements", "k"), [([1, 2], 3), ([1, 2], 0)])
def test_the_exact_topk_refuses(elements, k):
    with pytest.raises(ValueError, match=f"^k must be 1 to 2, not {k}$"):
        exact.topk(elements, k)
