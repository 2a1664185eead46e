"""Row gather and scatter by DMA: a table in HBM, one row index for each partition of SBUF.

Bit-identical to `bitpath.golden.trainium3.exact.dma_gather` and `dma_scatter`.

Ref: ``nki.isa`` reference pages, NKI 0.6, and "NKI access patterns", AWS Neuron documentation. Points that they leave open
are in `bitpath.golden.trainium3.declarations.memory.CHOICES`.
"""

from typing import Literal, get_args

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_choice, check_shape, checked
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.memory.access_pattern import ELEMENT_DTYPES
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES, cast

OutOfBounds = Literal["error", "skip"]


@checked
def dma_gather(dst: np.ndarray, table: np.ndarray, indices: np.ndarray, *, oob: OutOfBounds = "error") -> np.ndarray:
    """Compute ``dst[p] = table[indices[p, 0]]``; a new array like `dst`.

    Parameters
    ----------
    dst : [P, ...], P from 1 to 128: present content, which a skipped row keeps.
    table : [R, ...] of dst's inner shape. Equal dtypes move bits; others, which `cast` must take, go through FP32.
    indices : uint32 or int32 [P, 1], rows of the table.
    oob : index outside the table: "error" raises, "skip" leaves the row of the destination as it is.

    Raises
    ------
    TypeError, ValueError : other dtypes or shapes, or such an index with "error".
    """
    kept = row_pairs("dst", dst, table, indices, oob)
    result = dst.copy()
    result[kept] = _moved(table[indices[kept, 0]], dst.dtype)
    return result


@checked
def dma_scatter(table: np.ndarray, indices: np.ndarray, src: np.ndarray, *, oob: OutOfBounds = "error") -> np.ndarray:
    """Compute ``table[indices[p, 0]] = src[p]``, p ascending, so that the last of equal indices stays; a new table.

    Parameters, errors: as `dma_gather`, with `src` for `dst`; "skip" drops the row.
    """
    kept = row_pairs("src", src, table, indices, oob)
    result = table.copy()
    result[indices[kept, 0]] = _moved(src[kept], table.dtype)
    return result


def row_pairs(name: str, rows: np.ndarray, table: np.ndarray, indices: np.ndarray, oob: str) -> np.ndarray:
    """Check operands of a row gather or scatter and return the partitions whose index is in the table, ascending.

    Raises
    ------
    TypeError, ValueError : as `dma_gather`; `name` is that of the operand in SBUF.
    """
    check_array("table", table, *ELEMENT_DTYPES)
    castable = [*CAST_DTYPES.values()]
    check_array(name, rows, *(castable if table.dtype in castable else [table.dtype]))
    check_array("indices", indices, np.uint32, np.int32)
    check_choice("oob", oob, get_args(OutOfBounds))
    for each, array in (("table", table), (name, rows)):
        if array.ndim < 2:
            raise ValueError(f"{each} must have at least 2 axes, not {array.ndim}")
    check_shape(name, rows, "P", *table.shape[1:], why=" with the table's rows")
    if not 0 < len(rows) <= PARTITIONS:
        raise ValueError(f"{name} must span 1 to {PARTITIONS} partitions, not {len(rows)}")
    check_shape("indices", indices, len(rows), 1, why=f" with {name}'s partitions")
    inside = (indices[:, 0] >= 0) & (indices[:, 0] < len(table))
    if oob == "error" and not inside.all():
        raise ValueError(
            f"indices must be below the table's {len(table)} rows with oob 'error', not {indices[~inside, 0][0]}"
        )
    return np.flatnonzero(inside)


def _moved(rows: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return rows as the destination's dtype."""
    return rows if rows.dtype == dtype else cast(rows, dtype)
