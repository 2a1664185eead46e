"""iota and affine_select against their exact twins and by hand."""

import re

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.trainium3 import affine_select, iota
from bitpath.golden.trainium3.declarations.dtypes import FORMATS
from bitpath.golden.trainium3.declarations.vector import COMPARISONS
from bitpath.golden.trainium3.exact import affine_select as exact_affine_select
from bitpath.golden.trainium3.exact import iota as exact_iota
from bitpath.verif.trainium3.engines.codes import SPECIALS, bits, destination, draw, tile

NAMES = st.sampled_from(list(FORMATS))
FLAT = [name for name in FORMATS if name != "tf32"]
WORDS = st.one_of(st.integers(-20, 20), st.integers(-(2**31), 2**31 - 1))
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
