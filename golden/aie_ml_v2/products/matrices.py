"""Native matrix products of integers and of sparse operands, one instruction each.

Ref: llvm-aie, intrinsics headers of aie2ps, for the shapes; AM027, Table 7; UG1583 for the sparse operand.
"""

from typing import Any

import numpy as np

from bitpath.golden.aie_ml_v2.convert.integers import integer_dot
from bitpath.golden.aie_ml_v2.declarations.codes import SPARSE_GROUP
from bitpath.golden.aie_ml_v2.declarations.modes import INTEGER_MODES
from bitpath.golden.aie_ml_v2.mac.sparsity import SPARSE_MODES, SparseVector, sparse_dot
from bitpath.golden.arrays.arguments import check_array, check_choice, check_shape, checked, one_of


@checked
def integer_matmul(
    a: np.ndarray,
    b: np.ndarray,
    acc: np.ndarray | None = None,
    *,
    mode: str,
    shape: str | None = None,
    **options: Any,
) -> np.ndarray:
    """Multiply one native tile of integers, ``D[i][j] = acc[i][j] + sum(A[i][k] * B[k][j])``; lanes wrap.

    Parameters
    ----------
    a, b : integers [..., M, K] and [..., K, N] in the mode's ranges.
    acc : integers [..., M, N] of the lane's width; None if absent.
    mode : "int8" (8x8x8, 4x8x16), "int16" (8x2x8), "int16_64" (4x4x8) or "int32x16" (4x2x8).
    shape : MxKxN; None is the mode's first.
    options : options of `integer_dot`, `acc2` among them.

    Returns
    -------
    int64 [..., M, N].

    Raises
    ------
    TypeError, ValueError : another mode, shape or dtype; as `integer_dot`.
    """
    check_choice("mode", mode, INTEGER_MODES)
    native = {each.name: each for each in INTEGER_MODES[mode].shapes if not each.sparse}
    tile = native[next(iter(native)) if shape is None else check_choice("shape", shape, native)]
    for name, array, *sizes in (("a", a, tile.m, tile.k), ("b", b, tile.k, tile.n)):
        check_array(name, array)
        check_shape(name, array, "...", *sizes, why=f" with shape {tile.name!r}")
    columns = b.swapaxes(-1, -2)[..., np.newaxis, :, :]
    return integer_dot(a[..., np.newaxis, :], columns, acc, mode=mode, **options)


@checked
def sparse_matmul(
    a: np.ndarray,
    b: SparseVector,
    *,
    fmt: str,
    acc: np.ndarray | None = None,
    overfull: str = "error",
    **options: Any,
) -> np.ndarray:
    """Multiply one native tile with sparse B, ``D[i][j] = acc[i][j] + sum(A[i][k] * B[j][k])``.

    Parameters
    ----------
    a : [..., M, K] of the mode's dtypes.
    b : slots [..., N, K / 4, 2]: rows are columns of the product, k innermost.
    fmt : "int8" (8x16x8, 4x16x16, 4x16x8), "int16_64" (4x8x8), "bf16", "fp16" (4x16x8) or "fp8" (4x16x16).
    acc : [..., M, N], as acc1 of `sparse_dot`; None if absent.
    overfull : "error", or "drop" to multiply neither slot of a group with more than two entities.
    options : options of `fused_dot` or `integer_dot`, `acc2` among them.

    Returns
    -------
    int64 or float32 [..., M, N].

    Raises
    ------
    TypeError, ValueError : another format or shape; as `sparse_dot`.
    """
    check_choice("fmt", fmt, SPARSE_MODES)
    check_array("a", a)
    check_shape("a", a, "...", "M", "K")
    check_shape("b", b.mask, "...", "N", "G", why=" of masks")
    shapes = {(each.m, each.k, each.n): each.name for each in SPARSE_MODES[fmt].sparse_shapes}
    given = (*a.shape[-2:], b.mask.shape[-2])
    if given not in shapes or b.mask.shape[-1] * SPARSE_GROUP != a.shape[-1]:
        known = one_of(shapes.values())
        raise ValueError(f"a and b must make a shape of {known}, not {a.shape} with masks {b.mask.shape}")
    columns = SparseVector(b.slots[..., np.newaxis, :, :, :], b.mask[..., np.newaxis, :, :])
    return sparse_dot(a[..., np.newaxis, :], columns, acc, fmt=fmt, overfull=overfull, **options)
