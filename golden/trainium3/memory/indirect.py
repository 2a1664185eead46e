"""Indirect access of the compute engines: columns of a tile by a list of offsets, the same in every partition.

    offset i = index[i % G, i // G],  G = 16 for VectorE, ScalarE and GpSimd, 32 for TensorE

Ref: "Trainium3 Architecture Guide for NKI", AWS Neuron documentation, 2026-08, Tensor indirection; ``NkiTensor.indirect`` of
``nki.language``. Points that they leave open are in `bitpath.golden.trainium3.declarations.memory.CHOICES`.
"""

from typing import Literal, get_args

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_choice, check_shape, checked, integer, numerics_of
from bitpath.golden.trainium3.declarations.memory import TRAINIUM3_INDIRECT, IndexLists, IndirectNumerics
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.memory.access_pattern import ELEMENT_DTYPES

Engine = Literal["vector", "scalar", "gpsimd", "tensor"]
INDEX_DTYPES = (np.uint32, np.uint16)
_NOT_TENSOR = (np.float32, np.int32)
"""Dtypes that TensorE does not take indirectly; uint32 is FP8's x4 word."""


@checked
def indirect_offsets(
    index: np.ndarray, num_elem: int | None = None, *, engine: Engine, numerics: IndirectNumerics | None = None
) -> np.ndarray:
    """Return the offsets in the order in which they are used.

    Parameters
    ----------
    index : uint32 or uint16 [P, K], P at least G; rows from G on are ignored.
    num_elem : 1 to G * K offsets; None takes all.
    engine : "vector", "scalar", "gpsimd" or "tensor"; decides G.
    numerics : default `TRAINIUM3_INDIRECT`, one list for all partitions.

    Returns
    -------
    int64 [num_elem]; [P/G, num_elem] with `IndexLists.GROUPED`, where P must be a multiple of G.

    Raises
    ------
    TypeError, ValueError : another dtype, shape, number or engine.
    """
    numerics = numerics_of(numerics, TRAINIUM3_INDIRECT)
    check_array("index", index, *INDEX_DTYPES)
    check_shape("index", index, "P", "K")
    check_choice("engine", engine, get_args(Engine))
    group = numerics.tensor_index_rows if engine == "tensor" else numerics.index_rows
    partitions, columns = index.shape
    if not group <= partitions <= PARTITIONS or not columns:
        raise ValueError(
            f"index must have shape [P, K] with P from {group} to {PARTITIONS} and K of at least 1, not {index.shape}"
        )
    count = group * columns if num_elem is None else num_elem
    integer("num_elem", count, range(1, group * columns + 1), f" with an index of {columns} columns")
    if numerics.lists is IndexLists.SHARED:
        return index[:group].T.reshape(-1)[:count].astype(np.int64)
    if partitions % group:
        raise ValueError(f"index must have a multiple of {group} rows, not {partitions}")
    lists = index.reshape(-1, group, columns).transpose(0, 2, 1)
    return lists.reshape(len(lists), -1)[:, :count].astype(np.int64)


@checked
def gather(
    data: np.ndarray,
    index: np.ndarray,
    num_elem: int | None = None,
    *,
    engine: Engine,
    numerics: IndirectNumerics | None = None,
) -> np.ndarray:
    """Compute ``out[p, i] = data[p, offset i]``, [P, num_elem] of the data's dtype.

    Parameters
    ----------
    data : [P, F] of `ELEMENT_DTYPES`, x4 words among them; not 32-bit numbers with TensorE.
    index, num_elem, engine, numerics : as `indirect_offsets`; P rows.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or engine, or an offset of F or more.
    """
    at = _places("data", data, index, num_elem, engine, numerics)
    return np.take_along_axis(data, at, axis=1)


@checked
def scatter(
    dst: np.ndarray, index: np.ndarray, src: np.ndarray, *, engine: Engine, numerics: IndirectNumerics | None = None
) -> np.ndarray:
    """Compute ``dst[p, offset i] = src[p, i]``, i ascending, so that the last of equal offsets stays; a new [P, F].

    Parameters
    ----------
    dst : [P, F], present content, as `gather`'s data.
    index, engine, numerics : as `indirect_offsets`; P rows.
    src : [P, num_elem] of dst's dtype.

    Raises
    ------
    TypeError, ValueError : as `gather`, or another shape or dtype of `src`.
    """
    check_array("dst", dst, *ELEMENT_DTYPES)
    check_array("src", src, dst.dtype)
    check_shape("src", src, "P", "num_elem")
    at = _places("dst", dst, index, src.shape[1], engine, numerics)
    check_shape("src", src, len(dst), "num_elem", why=" with dst's partitions")
    result = dst.copy()
    result[np.arange(len(dst))[:, np.newaxis], at] = src
    return result


def _places(
    name: str,
    data: np.ndarray,
    index: np.ndarray,
    num_elem: int | None,
    engine: Engine,
    numerics: IndirectNumerics | None,
) -> np.ndarray:
    """Return the column of each element, int64 [P, num_elem]."""
    check_array(name, data, *ELEMENT_DTYPES)
    check_shape(name, data, "P", "F")
    offsets = indirect_offsets(index, num_elem, engine=engine, numerics=numerics)
    if engine == "tensor" and data.dtype in _NOT_TENSOR:
        raise TypeError(f"{name} must have 16 or 8 bits or be x4 words with engine 'tensor', not {data.dtype}")
    check_shape("index", index, len(data), "K", why=f" with {name}'s partitions")
    if offsets.max() >= data.shape[1]:
        raise ValueError(f"index must hold offsets below {name}'s {data.shape[1]} columns, not {offsets.max()}")
    lists = np.atleast_2d(offsets)
    return lists.repeat(len(data) // len(lists), axis=0)
