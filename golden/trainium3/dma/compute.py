"""The DMA engines' own additions, through FP32: of several sources, and of rows by index.

Results are bit-identical to `bitpath.golden.trainium3.exact.dma_compute`, `dma_scatter_add` and `dma_gather_add`. Each takes twice the time of a copy.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Literal, get_args

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_choice, check_length, check_shape, checked
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.trainium3.declarations.dma import MAX_SOURCES
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.memory.access_pattern import ELEMENT_DTYPES
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES, cast, from_fp32, to_fp32

# Row gather and scatter by DMA: a table in HBM, one row index for each partition of SBUF.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.dma_gather` and `dma_scatter`.
#
# Ref: ``nki.isa`` reference pages, NKI 0.6, and "NKI access patterns", AWS Neuron documentation. Points that they leave open
# are in `bitpath.golden.trainium3.declarations.memory.CHOICES`.


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


# Read-add-write, an operation of the DMA engines on the side of their destination in SBUF.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.read_add_write`.


@checked
def read_add_write(b: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return ``b + a``, each sum rounded once to nearest even, as a transfer of `a` onto `b` leaves it in SBUF.

    Subnormals are kept, NaN is canonical. The transfer takes the time of a copy.

    Parameters
    ----------
    b : bfloat16 or float32 of any shape, in SBUF.
    a : the same dtype and shape, in any memory.

    Raises
    ------
    TypeError : other or different dtypes.
    ValueError : different shapes.
    """
    check_array("b", b, DTYPES[BF16], DTYPES[FP32])
    check_array("a", a, b.dtype)
    check_shape("a", a, *b.shape, why=", that of b")
    # FP32 has more than twice BF16's significand, so that a rounding to FP32 before that to BF16 changes nothing.
    return fp32.write(fp32.add(fp32.read(b), fp32.read(a)), b.dtype)


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
