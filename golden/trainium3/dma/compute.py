"""The DMA engines' own additions, through FP32: of several sources, and of rows by index.

Bit-identical to `bitpath.golden.trainium3.exact.dma_compute`, `dma_scatter_add` and `dma_gather_add`. Each takes twice the time of a copy.
"""

from collections.abc import Sequence
from functools import reduce

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_length, check_shape, checked
from bitpath.golden.trainium3.declarations.dma import MAX_SOURCES
from bitpath.golden.trainium3.dma.rows import OutOfBounds, row_pairs
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES, from_fp32, to_fp32


@checked
def dma_compute(
    srcs: Sequence[np.ndarray], dtype: np.dtype | type | str, *, sources: Sequence[str | None] | None = None
) -> np.ndarray:
    """Return the sum of sources, ``((s0 + s1) + s2) + ...`` in FP32, each sum rounded to nearest even, as `dtype`.

    Parameters
    ----------
    srcs : 1 to 16 arrays of one shape, of any dtypes that `cast` takes.
    dtype : of the destination, as `cast` takes it.
    sources : for each source "tf32" or None, as `cast` takes it; None if none is TF32.

    Raises
    ------
    TypeError : another dtype.
    ValueError : more or fewer sources, or different shapes.
    """
    if not 1 <= len(srcs) <= MAX_SOURCES:
        raise ValueError(f"srcs must be 1 to {MAX_SOURCES} arrays, not {len(srcs)}")
    names = [None] * len(srcs) if sources is None else sources
    check_length("sources", names, len(srcs), ", one for each of srcs")
    values = [to_fp32(each, name) for each, name in zip(srcs, names, strict=True)]
    for number, each in enumerate(values):
        check_shape(f"srcs[{number}]", each, *values[0].shape, why=", that of srcs[0]")
    return from_fp32(reduce(fp32.add, values), dtype)


@checked
def dma_scatter_add(
    table: np.ndarray, indices: np.ndarray, src: np.ndarray, *, oob: OutOfBounds = "error"
) -> np.ndarray:
    """Return a table in HBM after ``table[indices[p]] += src[p]`` for every partition p.

    Parameters
    ----------
    table : [R, ...] of any dtype that `cast` takes.
    indices : uint32 or int32 [P, 1], each row of the table at most once.
    src : [P, ...] with the table's row shape, P from 1 to 128, of any dtype that `cast` takes.
    oob : an index outside the table raises ("error") or leaves out its row ("skip").

    Raises
    ------
    TypeError : another dtype.
    ValueError : another shape or `oob`, an index that comes twice, or with "error" one outside the table.
    """
    rows, used = _rows(table, indices, src, "src", oob)
    result = table.copy()
    result[rows] = dma_compute([table[rows], src[used]], table.dtype)
    return result


@checked
def dma_gather_add(
    dst: np.ndarray, table: np.ndarray, indices: np.ndarray, *, oob: OutOfBounds = "error"
) -> np.ndarray:
    """Return a destination [P, ...] after ``dst[p] += table[indices[p]]`` for every partition p.

    Parameters, errors: as `dma_scatter_add`; a skipped row keeps its bits.
    """
    rows, used = _rows(table, indices, dst, "dst", oob)
    result = dst.copy()
    result[used] = dma_compute([dst[used], table[rows]], dst.dtype)
    return result


def _rows(
    table: np.ndarray, indices: np.ndarray, other: np.ndarray, name: str, oob: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the table's rows that take part, and the rows of the other operand that meet them."""
    check_array("table", table, *CAST_DTYPES.values())
    used = row_pairs(name, other, table, indices, oob)
    rows = indices[used, 0]
    row, times = np.unique(rows, return_counts=True)
    if (times > 1).any():
        raise ValueError(f"indices must be unique, but {row[times > 1][0]} comes {times.max()} times")
    return rows, used
