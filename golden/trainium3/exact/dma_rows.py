"""Exact twins of DMA copies, row gathers and scatters, and transposes, on codes.

The rules are in `bitpath.golden.trainium3.declarations.dma.CHOICES` and those of memory.
"""

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import TypeVar

from bitpath.golden.scalar.arguments import check_length, integer
from bitpath.golden.scalar.checked import checked
from bitpath.golden.trainium3.exact.cast import cast
from bitpath.golden.trainium3.exact.dma import dma_compute

Item = TypeVar("Item")


@checked
def dma_copy(codes: Sequence[int], source: str, destination: str) -> list[int]:
    """Return the codes of a copy: those of a source in row-major order, each cast.

    Parameters
    ----------
    codes : of the source.
    source, destination : names of dtypes, as `cast` takes them.
    """
    return [cast(code, source, destination) for code in codes]


@checked
def dma_gather(
    dst: Sequence[Sequence[int]],
    table: Sequence[Sequence[int]],
    indices: Sequence[int],
    source: str,
    destination: str,
    *,
    skip: bool = False,
) -> list[list[int]]:
    """Return the rows of a destination after ``dst[p] = table[indices[p]]``.

    Parameters
    ----------
    dst, table : codes of each row.
    indices : a row of the table for each of dst's.
    source, destination : names of the table's dtype and dst's.
    skip : True to leave a row of dst as it is where its index is outside the table.

    Raises
    ------
    ValueError : another number of indices, or an index outside the table without `skip`.
    """
    result = [[*row] for row in dst]
    for p, i in _pairs(dst, table, indices, skip):
        result[p] = dma_copy(table[i], source, destination)
    return result


@checked
def dma_scatter(
    table: Sequence[Sequence[int]],
    indices: Sequence[int],
    src: Sequence[Sequence[int]],
    source: str,
    destination: str,
    *,
    skip: bool = False,
) -> list[list[int]]:
    """Return the rows of a table after ``table[indices[p]] = src[p]``, p ascending.

    Parameters, errors: as `dma_gather`, with `source` the dtype of src and `destination` that of the table.
    """
    result = [[*row] for row in table]
    for p, i in _pairs(src, table, indices, skip):
        result[i] = dma_copy(src[p], source, destination)
    return result


@checked
def dma_gather_add(
    dst: Sequence[Sequence[int]],
    table: Sequence[Sequence[int]],
    indices: Sequence[int],
    source: str,
    destination: str,
    *,
    skip: bool = False,
) -> list[list[int]]:
    """Return the rows of a destination after ``dst[p] += table[indices[p]]``; parameters, errors: as `dma_gather`."""
    result = [[*row] for row in dst]
    for p, i in _pairs(dst, table, indices, skip, unique=True):
        result[p] = _sums(dst[p], destination, table[i], source)
    return result


@checked
def dma_scatter_add(
    table: Sequence[Sequence[int]],
    indices: Sequence[int],
    src: Sequence[Sequence[int]],
    source: str,
    destination: str,
    *,
    skip: bool = False,
) -> list[list[int]]:
    """Return the rows of a table after ``table[indices[p]] += src[p]``; parameters, errors: as `dma_scatter`."""
    result = [[*row] for row in table]
    for p, i in _pairs(src, table, indices, skip, unique=True):
        result[i] = _sums(table[i], destination, src[p], source)
    return result


@checked
def dma_transpose(codes: Sequence[int], shape: Sequence[int]) -> list[int]:
    """Return codes after the first and the last axis have changed places, in row-major order before and after.

    Parameters
    ----------
    codes : of the source.
    shape : sizes of its axes, at least 2.

    Raises
    ------
    ValueError : another number of codes, or fewer axes.
    """
    return _exchanged(codes, shape)


@checked
def dma_gather_transpose(
    rows: Sequence[Sequence[int]],
    inner: Sequence[int],
    indices: Sequence[Sequence[int]],
    count: int,
    dst: Sequence[int] | None = None,
) -> list[int]:
    """Return the codes of a transpose of gathered rows, in row-major order.

    Parameters
    ----------
    rows : codes of each row of the source.
    inner : sizes of a row's axes.
    indices : rows of the index tile, read down its columns.
    count : rows to gather.
    dst : present codes of the destination, in row-major order, which an index outside the source leaves; None makes such an
        index an error.

    Raises
    ------
    ValueError : an index that is not there, one outside the source without `dst`, or another number of codes.
    """
    check_length("indices", indices)
    check_length("rows", rows)
    gathered: list[int | None] = []
    for i in range(count):
        column, line = divmod(i, len(indices))
        check_length(f"indices[{line}]", indices[line])
        row = indices[line][integer("column of indices", column, range(len(indices[line])))]
        if dst is None or 0 <= row < len(rows):
            gathered += rows[integer("indices", row, range(len(rows)))]
        else:
            gathered += [None] * prod(inner)
    moved = _exchanged(gathered, (count, *inner))
    kept = [0] * len(moved) if dst is None else dst
    check_length("dst", kept, len(moved))
    return [old if code is None else code for code, old in zip(moved, kept, strict=True)]


def _pairs(
    rows: Sequence[Sequence[int]],
    table: Sequence[Sequence[int]],
    indices: Sequence[int],
    skip: bool,
    unique: bool = False,
) -> list[tuple[int, int]]:
    """Return the row and the table's row of each pair, in the order of the rows."""
    check_length("indices", indices, len(rows), ", one for each row")
    check_length("table", table)
    pairs = [
        (p, i if skip else integer("indices", i, range(len(table))))
        for p, i in enumerate(indices)
        if not skip or 0 <= i < len(table)
    ]
    if unique and len({i for _, i in pairs}) != len(pairs):
        raise ValueError(f"indices must be unique, not {[i for _, i in pairs]}")
    return pairs


def _sums(first: Sequence[int], destination: str, second: Sequence[int], source: str) -> list[int]:
    """Return the sums of two rows' elements, in the dtype of the first."""
    check_length("row", second, len(first), ", as the row that it is added to")
    return [dma_compute(pair, (destination, source), destination) for pair in zip(first, second, strict=True)]


def _exchanged(values: Sequence[Item], shape: Sequence[int]) -> list[Item]:
    check_length("codes", values, prod(shape), ", as shape says")
    if len(shape) < 2:
        raise ValueError(f"shape must have at least 2 axes, not {len(shape)}")
    first, *middle, last = shape
    result = []
    for place in product(*map(range, (last, *middle, first))):
        offset = 0
        for size, i in zip(shape, (place[-1], *place[1:-1], place[0]), strict=True):
            offset = offset * size + i
        result.append(values[offset])
    return result
