"""Structured sparsity: a stationary operand compressed along K, and its tags.

A group of b dense elements along K keeps a of them, on a partitions. The moving operand has b/a slots on each of these
partitions; position t of a group is slot ``t % (b/a)`` of partition ``t // (b/a)`` in it::

    pattern 4:8           t    0  1  2  3  4  5  6  7
                  partition    0  0  1  1  2  2  3  3
                       slot    0  1  0  1  0  1  0  1

Ref: "NeuronCore-v4 architecture" and "Trainium2 Architecture Guide for NKI", structured sparsity (patterns, shapes, width of
a tag). Order and code of tags are in `bitpath.golden.trainium3.declarations.tensor`.
"""

from typing import Literal

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_choice, check_shape, checked, numerics_of
from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.trainium3.declarations.quad_mx import MAX_STATIONARY, PARTITIONS
from bitpath.golden.trainium3.declarations.tensor import (
    PATTERNS,
    TAGS_IN_WORD,
    TRAINIUM3_SPARSE,
    SparseNumerics,
    SparsePattern,
    TagMap,
)
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_MATMUL, MatmulNumerics
from bitpath.golden.trainium3.matmul.instruction import accumulates, check_destination, check_rounding, psum_write
from bitpath.golden.trainium3.matmul.nc_matmul import check_pair, read_operand

SPARSE_DTYPES = tuple(DTYPES[fmt] for fmt in (BF16, FP16, FP32))
"""Dtypes of operands; float32 carries TF32."""


def pattern_of(pattern: str, numerics: SparseNumerics) -> SparsePattern:
    """Return the pattern of a name such as "4:8"; raise unless the numerics have it."""
    known = [f"{kept}:{group}" for kept, group in numerics.patterns]
    return PATTERNS[check_choice("pattern", pattern, known)]


@checked
def compress_sparse(
    dense: np.ndarray,
    pattern: str,
    *,
    prune: Literal["magnitude"] | None = None,
    numerics: SparseNumerics | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Compress a dense matrix along K.

    The nonzero elements of a group go to its partitions in ascending position. A group with fewer takes +0 at its smallest
    free positions as fillers. -0 counts as zero, NaN as the largest magnitude.

    Parameters
    ----------
    dense : [K, M] of bfloat16, float16 or float32; K is a multiple of the group, at most 128 partitions of it.
    pattern : "4:16", "4:12", "4:8", "2:8", "2:4", "1:4" or "1:2".
    prune : "magnitude" keeps the largest magnitudes of a group, the smaller position first among equals; None refuses a
        group with too many.

    Returns
    -------
    values [P, M] of `dense`'s dtype and tags [P, M] uint8, positions 0 to group - 1, ascending in a group; P is K less the
    ratio.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or pattern; too many nonzero elements without `prune`.
    """
    shape = pattern_of(pattern, numerics_of(numerics, TRAINIUM3_SPARSE))
    if prune is not None:
        check_choice("prune", prune, ("magnitude",))
    check_array("dense", dense, *SPARSE_DTYPES)
    check_shape("dense", dense, "K", "M")
    rows, columns = dense.shape
    if rows % shape.group or not 0 < rows <= PARTITIONS * shape.ratio:
        largest = PARTITIONS * shape.ratio
        raise ValueError(f"dense must have a multiple of {shape.group} rows up to {largest} with {pattern}, not {rows}")
    counts = np.count_nonzero(_magnitudes(dense.reshape(-1, shape.group, columns)), axis=1)
    if prune is None and np.any(counts > shape.kept):
        raise ValueError(
            f"dense must have at most {shape.kept} of {shape.group} elements other than 0 in a group, not {counts.max()}"
        )
    return largest_of_groups(dense, shape)


def _magnitudes(dense: np.ndarray) -> np.ndarray:
    """Return codes without their signs, int64, which are in the order of the magnitudes."""
    return codes_of(dense, "dense").astype(np.int64) & (1 << 8 * dense.dtype.itemsize - 1) - 1


def largest_of_groups(dense: np.ndarray, shape: SparsePattern) -> tuple[np.ndarray, np.ndarray]:
    """Return what `compress_sparse` returns with the largest magnitudes, of any number of whole groups [K, M]."""
    columns = dense.shape[1]
    groups = dense.reshape(-1, shape.group, columns)
    magnitude = _magnitudes(groups)
    tags = np.sort(np.argsort(-magnitude, axis=1, kind="stable")[:, : shape.kept], axis=1)
    values = np.take_along_axis(groups, tags, axis=1)
    values[np.take_along_axis(magnitude, tags, axis=1) == 0] = 0
    return values.reshape(-1, columns), tags.reshape(-1, columns).astype(np.uint8)


@checked
def expand_sparse(
    values: np.ndarray, tags: np.ndarray, pattern: str, *, numerics: SparseNumerics | None = None
) -> np.ndarray:
    """Return the dense matrix [K, M] of values and tags [P, M]; the inverse of `compress_sparse`.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or pattern; a tag outside the group; a tag twice in a group.
    """
    shape = pattern_of(pattern, numerics_of(numerics, TRAINIUM3_SPARSE))
    check_array("values", values, *SPARSE_DTYPES)
    _check_tags(tags, pattern, shape)
    check_shape("values", values, *tags.shape, why=" as tags")
    positions = tags.reshape(-1, shape.kept, tags.shape[1]).astype(np.intp)
    ordered = np.sort(positions, axis=1)
    if np.any(ordered[:, 1:] == ordered[:, :-1]):
        raise ValueError("tags must be distinct in a group to be expanded, not equal")
    dense = np.zeros((len(positions), shape.group, tags.shape[1]), values.dtype)
    np.put_along_axis(dense, positions, values.reshape(positions.shape), axis=1)
    return dense.reshape(-1, tags.shape[1])


@checked
def pack_tags(tags: np.ndarray, pattern: str, *, numerics: SparseNumerics | None = None) -> np.ndarray:
    """Pack tags [P, M] into words uint16 [P, M/4], column 4w in the lowest four bits of word w.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or pattern; a tag outside the group; M no multiple of 4.
    """
    numerics = numerics_of(numerics, TRAINIUM3_SPARSE)
    shape = pattern_of(pattern, numerics)
    _check_tags(tags, pattern, shape)
    if tags.shape[1] % TAGS_IN_WORD:
        raise ValueError(f"tags must have a multiple of {TAGS_IN_WORD} columns, not {tags.shape[1]}")
    nibbles = _codes(shape, numerics)[tags].reshape(len(tags), -1, TAGS_IN_WORD).astype(np.uint16)
    return np.bitwise_or.reduce(nibbles << np.arange(0, 16, 4, dtype=np.uint16), axis=2)


@checked
def unpack_tags(words: np.ndarray, pattern: str, *, numerics: SparseNumerics | None = None) -> np.ndarray:
    """Return the tags uint8 [P, 4W] of words uint16 [P, W]; the inverse of `pack_tags`.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or pattern; a code that names no position of the group.
    """
    numerics = numerics_of(numerics, TRAINIUM3_SPARSE)
    shape = pattern_of(pattern, numerics)
    check_array("words", words, np.uint16)
    check_shape("words", words, "P", "W")
    nibbles = (words[..., np.newaxis] >> np.arange(0, 16, 4, dtype=np.uint16) & 15).reshape(len(words), -1)
    positions = np.full(1 << 4, shape.group, np.uint8)
    positions[_codes(shape, numerics)] = np.arange(shape.group)
    tags = positions[nibbles]
    if np.any(tags == shape.group):
        raise ValueError(f"words must hold tags of {pattern}, not {int(nibbles[tags == shape.group][0]):#x}")
    return tags


def _codes(shape: SparsePattern, numerics: SparseNumerics) -> np.ndarray:
    """Return the four-bit code of each position of a group."""
    positions = np.arange(shape.group)
    if numerics.tag_map is TagMap.POSITION:
        return positions
    return positions // shape.ratio << 2 | positions % shape.ratio


def _check_tags(tags: np.ndarray, pattern: str, shape: SparsePattern) -> None:
    check_array("tags", tags, np.uint8)
    check_shape("tags", tags, "P", "M")
    rows, columns = tags.shape
    if rows % shape.kept or not 0 < rows <= PARTITIONS:
        raise ValueError(f"tags must span a multiple of {shape.kept} partitions up to {PARTITIONS}, not {rows}")
    if not 0 < columns <= MAX_STATIONARY:
        raise ValueError(f"tags must have a free size M from 1 to {MAX_STATIONARY}, not {columns}")
    if np.any(tags >= shape.group):
        raise ValueError(f"tags must be 0 to {shape.group - 1} with {pattern}, not {tags.max()}")


# nc_matmul_sparse: a compressed stationary operand times a dense moving one.
#
# Results are bit-identical to chaining `bitpath.golden.trainium3.exact.multiply_add` over the elements that
# `bitpath.golden.trainium3.exact.selected` names.
#
# Ref: "NeuronCore-v4 architecture"; "Trainium2 Architecture Guide for NKI", structured sparsity.


@checked
def nc_matmul_sparse(
    stationary: np.ndarray,
    moving: np.ndarray,
    tag_words: np.ndarray,
    pattern: str,
    *,
    dst: np.ndarray | None = None,
    dst_dtype: np.dtype | type = np.float32,
    psum_accumulate_flag: int = 3,
    rounding: Literal["rne", "sr"] = "rne",
    random_bits: np.ndarray | None = None,
    numerics: MatmulNumerics | None = None,
    sparse_numerics: SparseNumerics | None = None,
) -> np.ndarray:
    """Compute ``dst[m, n] (+)= sum over p of stationary[p, m] * moving[a * (p // a) + t // c, t % c, n]``, t = tag[p, m].

    The pattern is a:b and c = b / a. Partitions p are added in order from +0, each as `nc_matmul`'s rows.

    Parameters
    ----------
    stationary : values [P, M] of `compress_sparse`, bfloat16, float16 or float32, which is rounded to TF32; P is a multiple
        of a up to 128, M one of 4 up to 128.
    moving : dense [P, c, N] of such a dtype: partition p and slot r hold the dense index c * p + r.
    tag_words : uint16 [P, M/4] of `pack_tags`. Tags of a group may be equal.
    pattern : as `compress_sparse`.
    dst, dst_dtype, psum_accumulate_flag, rounding, random_bits : as `nc_matmul_mx`.
    numerics : as `nc_matmul`.
    sparse_numerics : patterns and code of tags, default `TRAINIUM3_SPARSE`.

    Returns
    -------
    A new [M, N] array of `dst`'s dtype.

    Raises
    ------
    TypeError, ValueError : anything outside these limits.
    """
    sparse_numerics = numerics_of(sparse_numerics, TRAINIUM3_SPARSE)
    shape = pattern_of(pattern, sparse_numerics)
    check_array("stationary", stationary, *SPARSE_DTYPES)
    check_array("moving", moving, *SPARSE_DTYPES)
    if stationary.ndim != 2 or stationary.shape[0] % shape.kept or not 0 < stationary.shape[0] <= PARTITIONS:
        said = f"P a multiple of {shape.kept} up to {PARTITIONS} with {pattern}"
        raise ValueError(f"stationary must have shape [P, M] with {said}, not {stationary.shape}")
    rows, columns = stationary.shape
    if columns % TAGS_IN_WORD or not 0 < columns <= MAX_STATIONARY:
        raise ValueError(
            f"stationary must have a free size M that is a multiple of {TAGS_IN_WORD} up to {MAX_STATIONARY}, not {columns}"
        )
    if moving.ndim != 3 or moving.shape[:2] != (rows, shape.ratio):
        raise ValueError(f"moving must have shape [{rows}, {shape.ratio}, N] with {pattern}, not {moving.shape}")
    tags = unpack_tags(tag_words, pattern, numerics=sparse_numerics)
    if tags.shape != stationary.shape:
        raise ValueError(f"tag_words must have shape ({rows}, {columns // TAGS_IN_WORD}), not {tag_words.shape}")
    accumulate = accumulates(psum_accumulate_flag)
    dtype = check_destination((columns, moving.shape[2]), dst, dst_dtype, accumulate)
    mode = check_rounding(rounding, random_bits, dtype, (columns, moving.shape[2]))
    numerics = numerics_of(numerics, TRAINIUM3_MATMUL)
    x, x_format = read_operand("stationary", stationary, _is_fp32(stationary), numerics)
    y, y_format = read_operand("moving", moving, _is_fp32(moving), numerics)
    check_pair(numerics, (stationary, x_format), (moving, y_format))
    # The compiler is loaded with the first call.
    from bitpath.golden.trainium3.matmul import nc_matmul_loop

    dense = y.reshape(rows * shape.ratio, -1)
    result = nc_matmul_loop.chain_rows(numerics, dense, x, read_by(tags, shape).astype(np.uint16), shape.kept)
    return psum_write(np.ascontiguousarray(result.T), dst if accumulate else None, dtype, mode, random_bits)


def read_by(tags: np.ndarray, shape: SparsePattern) -> np.ndarray:
    """Return the dense index that the element of each tag [P, M] reads."""
    return np.arange(len(tags))[:, np.newaxis] // shape.kept * shape.group + tags


def _is_fp32(operand: np.ndarray) -> bool:
    return operand.dtype.itemsize == FP32.width // 8
