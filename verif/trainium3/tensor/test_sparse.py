"""Structured sparsity: compression against a loop over groups, products against the scalar chain and the dense matmul."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.golden.formats.catalogue import BF16, FP16, FP32, TF32
from bitpath.golden.trainium3 import (
    cast,
    compress_sparse,
    expand_sparse,
    nc_matmul,
    nc_matmul_sparse,
    pack_tags,
    unpack_tags,
)
from bitpath.golden.trainium3.declarations.tensor import PATTERNS, TRAINIUM3_SPARSE, TagMap
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_MATMUL
from bitpath.golden.trainium3.exact import multiply_add, selected

NUMERICS, SPARSE = TRAINIUM3_MATMUL.numerics, TRAINIUM3_SPARSE.numerics
POSITIONS = replace(SPARSE, tag_map=TagMap.POSITION)
FORMATS = {BF16: BF16, FP16: FP16, TF32: FP32}
patterns = st.sampled_from(sorted(PATTERNS))
BF = ml_dtypes.bfloat16


def dense_matrix(rng, pattern, groups, columns, fmt=BF16):
    """A dense matrix with at most the kept elements in each group; TF32 lies in FP32 codes."""
    shape = PATTERNS[pattern]
    codes = rng.integers(0, 1 << fmt.width, (groups * shape.group, columns))
    for group, column in np.ndindex(groups, columns):
        dropped = rng.permutation(shape.group)[rng.integers(0, shape.kept + 1) :]
        codes[group * shape.group + dropped, column] = rng.choice([0, fmt.sign_mask])
    return as_array(fmt, codes)


def as_array(fmt, codes):
    carrier = FORMATS[fmt]
    return (codes << carrier.width - fmt.width).astype(f"u{carrier.width // 8}").view(DTYPES[carrier])


@settings(max_examples=40, deadline=None)
@given(patterns, st.integers(1, 3), st.integers(0, 1 << 20), st.sampled_from([BF16, FP16, TF32]))
def test_compression(pattern, groups, seed, fmt):
    """A group's nonzeros in ascending position, then +0 at the smallest free positions, sorted together."""
    shape = PATTERNS[pattern]
    dense = dense_matrix(np.random.default_rng(seed), pattern, groups, 4, fmt)
    values, tags = compress_sparse(dense, pattern)
    codes, magnitude = codes_of(dense), codes_of(dense) & (1 << 8 * dense.itemsize - 1) - 1
    for group, column in np.ndindex(groups, 4):
        rows = range(group * shape.group, (group + 1) * shape.group)
        nonzero = [i for i, row in enumerate(rows) if magnitude[row, column]]
        free = [i for i in range(shape.group) if i not in nonzero]
        expected = sorted(nonzero + free[: shape.kept - len(nonzero)])
        own = slice(group * shape.kept, (group + 1) * shape.kept)
        assert tags[own, column].tolist() == expected
        kept = [int(codes[rows[i], column]) if i in nonzero else 0 for i in expected]
        assert codes_of(values)[own, column].tolist() == kept
    back = codes_of(expand_sparse(values, tags, pattern))
    assert np.array_equal(back, np.where(magnitude == 0, 0, codes))
    for numerics in (SPARSE, POSITIONS):
        words = pack_tags(tags, pattern, numerics=numerics)
        assert np.array_equal(unpack_tags(words, pattern, numerics=numerics), tags)


@settings(max_examples=25, deadline=None)
@given(patterns, st.integers(1, 2), st.integers(0, 1 << 20), st.sampled_from([BF16, FP16, TF32]))
def test_tiers_agree(pattern, groups, seed, fmt):
    """Any tags, equal and descending ones too, and any codes."""
    rng, shape = np.random.default_rng(seed), PATTERNS[pattern]
    rows = groups * shape.kept
    x = rng.integers(0, 1 << fmt.width, (rows, 4))
    y = rng.integers(0, 1 << fmt.width, (rows, shape.ratio, 3))
    tags = rng.integers(0, shape.group, (rows, 4)).astype(np.uint8)
    for numerics in (SPARSE, POSITIONS):
        words = pack_tags(tags, pattern, numerics=numerics)
        operands = as_array(fmt, x), as_array(fmt, y), words, pattern
        got = nc_matmul_sparse(*operands, sparse_numerics=numerics).view(np.uint32)
        for m, n in np.ndindex(got.shape):
            total = 0
            for row in range(rows):
                place = selected(numerics, shape, row, int(words[row, 0]) >> 4 * m & 15)
                total = multiply_add(NUMERICS, int(x[row, m]), fmt, int(y[(*place, n)]), fmt, total)
            assert got[m, n] == total


@pytest.mark.parametrize("pattern", sorted(PATTERNS))
def test_sparse_equals_dense(pattern):
    """The matmul of the dense matrix in order of k has the same bits: a zero weight adds nothing."""
    rng, shape = np.random.default_rng(len(pattern)), PATTERNS[pattern]
    dense = rng.standard_normal((4 * shape.group, 8)).astype(BF)
    values, tags = compress_sparse(dense, pattern, prune="magnitude")
    pruned = expand_sparse(values, tags, pattern)
    moving = rng.standard_normal((len(dense), 6)).astype(np.float16)
    tile = moving.reshape(-1, shape.ratio, 6)
    words = pack_tags(tags, pattern)
    got = nc_matmul_sparse(values, tile, words, pattern, dst_dtype=BF)
    expected = nc_matmul(pruned, moving, dst_dtype=BF)
    assert np.array_equal(codes_of(got), codes_of(expected))
    assert np.array_equal(
        codes_of(nc_matmul_sparse(values, tile, words, pattern, dst=got, psum_accumulate_flag=0)),
        codes_of(nc_matmul(pruned, moving, dst=expected, psum_accumulate_flag=0)),
    )


def test_float32_is_rounded_to_tf32():
    rng = np.random.default_rng(7)
    x, y = (rng.standard_normal(shape).astype(np.float32) for shape in ((4, 4), (4, 2, 3)))
    words = np.zeros((4, 1), np.uint16)
    rounded = nc_matmul_sparse(cast(x, "tf32"), cast(y, "tf32"), words, "4:8")
    assert np.array_equal(codes_of(nc_matmul_sparse(x, y, words, "4:8")), codes_of(rounded))


def test_groups_lie_contiguous_along_k():
    """4:8: nonzeros at 1, 4 and 7 and a filler at 0; moving elements are 1 to 8."""
    column = np.array([0, 5, 0, 0, 7, 0, 0, 9], BF)
    values, tags = compress_sparse(np.tile(column[:, np.newaxis], 4), "4:8")
    assert values[:, 0].tolist() == [0, 5, 7, 9]
    assert tags[:, 0].tolist() == [0, 1, 4, 7]
    words = pack_tags(tags, "4:8")
    assert words[:, 0].tolist() == [0x0000, 0x1111, 0x8888, 0xDDDD]
    moving = np.arange(1, 9).astype(BF).reshape(4, 2, 1)
    assert np.all(nc_matmul_sparse(values, moving, words, "4:8") == 117)
    values, tags = compress_sparse(np.array([[3], [0], [0], [4]] * 1, BF).repeat(4, 1), "1:2")
    assert (values[:, 0].tolist(), tags[:, 0].tolist()) == ([3, 4], [0, 1])
    moving = np.arange(1, 5).astype(BF).reshape(2, 2, 1)
    assert np.all(nc_matmul_sparse(values, moving, pack_tags(tags, "1:2"), "1:2") == 19)


def test_pruning_keeps_the_largest_magnitudes():
    dense = np.array([[1.0], [-3.0], [3.0], [np.nan]], np.float16)
    values, tags = compress_sparse(dense, "2:4", prune="magnitude")
    assert tags[:, 0].tolist() == [1, 3]  # of equal magnitudes the first
    assert values[0, 0] == -3
    assert np.isnan(values[1, 0])


def test_every_code_of_a_tag():
    for name, shape in PATTERNS.items():
        legal = [code for code in range(16) if selected(SPARSE, shape, 5, code)]
        assert len(legal) == shape.group
        tags = unpack_tags(
            np.array([[code] for code in legal], np.uint16)[: len(legal) // shape.kept * shape.kept], name
        )
        assert sorted(tags[:, 0].tolist()) == list(range(shape.group))
        for code in set(range(16)) - set(legal):
            with pytest.raises(ValueError, match=f"^words must hold tags of {name}, not {code:#x}$"):
                unpack_tags(np.full((shape.kept, 1), code, np.uint16), name)


GOOD = (np.ones((4, 4), BF), np.ones((4, 2, 3), BF), np.zeros((4, 1), np.uint16), "4:8")
BAD = [
    (0, np.ones((4, 4), ml_dtypes.float8_e5m2), TypeError, "stationary must be bfloat16, float16 or float32, not float8"),
    (0, np.ones((3, 4), BF), ValueError, r"stationary must have shape \[P, M\] with P a multiple of 4 up to 128 with 4:8,"),
    (0, np.ones((132, 4), BF), ValueError, r"stationary must have shape \[P, M\] with P a multiple of 4 up to 128 with"),
    (0, np.ones((0, 4), BF), ValueError, r"stationary must have shape \[P, M\] with P a multiple of 4 up to 128 with 4:8,"),
    (0, np.ones((4, 6), BF), ValueError, "stationary must have a free size M that is a multiple of 4 up to 128, not 6"),
    (0, np.ones((4, 4), np.float32), ValueError, "TF32 and FP32 must be multiplied with each other only, but stationary"),
    (1, np.ones((4, 2, 3)), TypeError, "moving must be bfloat16, float16 or float32, not float64"),
    (1, np.ones((4, 3, 3), BF), ValueError, r"moving must have shape \[4, 2, N\] with 4:8, not \(4, 3, 3\)"),
    (1, np.ones((4, 2, 513), BF), ValueError, "moving must have a free size N from 1 to 512 with a float32 dst, not 513"),
    (2, np.zeros((4, 1), np.uint8), TypeError, "words must be uint16, not uint8"),
    (2, np.zeros((4, 2), np.uint16), ValueError, r"tag_words must have shape \(4, 1\), not \(4, 2\)"),
    (2, np.full((4, 1), 2, np.uint16), ValueError, "words must hold tags of 4:8, not 0x2"),
    (3, "3:8", ValueError, "pattern must be '4:16', '4:12', '4:8', '2:8', '2:4', '1:4' or '1:2', not '3:8'"),
]  # fmt: skip


@pytest.mark.parametrize(("place", "value", "error", "sentence"), BAD)
def test_arguments(place, value, error, sentence):
    operands = [*GOOD]
    operands[place] = value
    with pytest.raises(error, match=f"^{sentence}"):
        nc_matmul_sparse(*operands)


def test_arguments_of_compression():
    dense = np.ones((8, 4), BF)
    with pytest.raises(ValueError, match=r"^dense must have at most 4 of 8 elements other than 0 in a group, not 8$"):
        compress_sparse(dense, "4:8")
    with pytest.raises(ValueError, match=r"^dense must have a multiple of 16 rows up to 512 with 4:16, not 8$"):
        compress_sparse(dense, "4:16")
    with pytest.raises(ValueError, match=r"^prune must be 'magnitude', not 'random'$"):
        compress_sparse(dense, "4:8", prune="random")
    tags = np.zeros((4, 4), np.uint8)
    for equal in (tags, np.repeat(np.array([[0], [1], [0], [2]], np.uint8), 4, axis=1)):
        with pytest.raises(ValueError, match=r"^tags must be distinct in a group to be expanded, not equal$"):
            expand_sparse(dense[:4], equal, "4:8")
    with pytest.raises(TypeError, match=r"^values must be bfloat16, float16 or float32, not float64$"):
        expand_sparse(np.ones((4, 4)), tags, "4:8")
    with pytest.raises(ValueError, match=r"^tags must have shape \[P, M\], not \(4,\)$"):
        pack_tags(tags[:, 0], "4:8")
    with pytest.raises(ValueError, match=r"^tags must be 0 to 7 with 4:8, not 8$"):
        pack_tags(tags + np.uint8(8), "4:8")
    with pytest.raises(ValueError, match=r"^tags must span a multiple of 4 partitions up to 128, not 3$"):
        pack_tags(tags[:3], "4:8")
    with pytest.raises(ValueError, match=r"^tags must have a free size M from 1 to 128, not 0$"):
        pack_tags(tags[:, :0], "4:8")
    with pytest.raises(ValueError, match=r"^tags must have a multiple of 4 columns, not 3$"):
        pack_tags(tags[:, :3], "4:8")
    with pytest.raises(ValueError, match=r"^pattern must be one of"):
        selected(replace(SPARSE, patterns=((1, 2),)), PATTERNS["4:8"], 0, 0)
    with pytest.raises(ValueError, match=r"^row must be 0 or more and code 0 to 15, not 0 and 16$"):
        selected(SPARSE, PATTERNS["4:8"], 0, 16)
