"""Exact twins of nc_stream_shuffle, local_gather and nc_n_gather, on rows of codes.

The rules are in `bitpath.golden.trainium3.declarations.gpsimd.GPSIMD_CHOICES`.
"""

from collections.abc import Sequence
from typing import TypeVar

from bitpath.golden.scalar.arguments import check_length, integer
from bitpath.golden.scalar.checked import checked
from bitpath.golden.trainium3.declarations.gpsimd import CORE_PARTITIONS, UNCHANGED
from bitpath.golden.trainium3.declarations.quad_mx import QUADRANT

Item = TypeVar("Item")


@checked
def nc_stream_shuffle(
    dst: Sequence[Sequence[int]], src: Sequence[Sequence[int]], shuffle_mask: Sequence[int]
) -> list[list[int]]:
    """Return dst's partitions after a shuffle of src's.

    Parameters
    ----------
    dst, src : codes of each partition.
    shuffle_mask : 32 numbers, each a partition of a quadrant or 255.

    Raises
    ------
    ValueError : a mask of another length, or a partition that src does not have.
    """
    check_length("shuffle_mask", shuffle_mask, QUADRANT)
    result = []
    for p, row in enumerate(dst):
        quadrant, i = divmod(p, QUADRANT)
        entry = shuffle_mask[i]
        if entry == UNCHANGED:
            result.append([*row])
        else:
            integer("shuffle_mask", entry, range(QUADRANT))
            result.append([*_item("src", src, QUADRANT * quadrant + entry)])
    return result


@checked
def local_gather(
    rows: Sequence[Sequence[int]], index: Sequence[Sequence[int]], num_elem_per_idx: int, num_valid_indices: int
) -> list[list[int]]:
    """Return the codes that each partition gathers.

    Parameters
    ----------
    rows, index : codes and indices of each partition.
    num_elem_per_idx, num_valid_indices : elements of a run, and runs.

    Raises
    ------
    ValueError : an index or a run that is not there.
    """
    check_length("index", index, len(rows), ", a row for each of rows")
    result = []
    for p, row in enumerate(rows):
        gathered = []
        for i in range(num_valid_indices):
            column, below = divmod(i, CORE_PARTITIONS)
            of_partition = _item("index", index, p // CORE_PARTITIONS * CORE_PARTITIONS + below)
            start = _item("index of a partition", of_partition, column)
            gathered += [_item("row", row, start + j) for j in range(num_elem_per_idx)]
        result.append(gathered)
    return result


@checked
def nc_n_gather(row: Sequence[int], indices: Sequence[int]) -> list[int]:
    """Return the codes of a partition at indices.

    Raises
    ------
    ValueError : an index that the row does not have.
    """
    return [_item("row", row, i) for i in indices]


def _item(name: str, values: Sequence[Item], place: int) -> Item:
    """Return an item of a sequence; raise ValueError unless it is there."""
    check_length(name, values)
    return values[integer(f"place in {name}", place, range(len(values)))]
