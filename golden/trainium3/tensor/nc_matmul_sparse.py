"""nc_matmul_sparse: a compressed stationary operand times a dense moving one.

Bit-identical to chaining `bitpath.golden.trainium3.exact.multiply_add` over the elements that
`bitpath.golden.trainium3.exact.selected` names.

Ref: "NeuronCore-v4 architecture"; "Trainium2 Architecture Guide for NKI", structured sparsity.
"""

from typing import Literal

import numpy as np

from bitpath.golden.arrays.arguments import check_array, checked, numerics_of
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.quad_mx import MAX_STATIONARY, PARTITIONS
from bitpath.golden.trainium3.declarations.tensor import TAGS_IN_WORD, TRAINIUM3_SPARSE, SparseNumerics
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_MATMUL, MatmulNumerics
from bitpath.golden.trainium3.matmul.instruction import accumulates, check_destination, check_rounding
from bitpath.golden.trainium3.matmul.nc_matmul import check_pair, read_operand
from bitpath.golden.trainium3.matmul.psum import psum_write
from bitpath.golden.trainium3.tensor.sparse import SPARSE_DTYPES, pattern_of, unpack_tags


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

    # Dense index of the element that a partition and a column read.
    read = np.arange(rows)[:, np.newaxis] // shape.kept * shape.group + tags
    result = nc_matmul_loop.chain_rows(numerics, x, y.reshape(rows * shape.ratio, -1), read)
    return psum_write(result, dst if accumulate else None, dtype, mode, random_bits)


def _is_fp32(operand: np.ndarray) -> bool:
    return operand.dtype.itemsize == FP32.width // 8
