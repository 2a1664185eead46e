"""Bytes of a memory, and what is known of each: whether, by which allocation and by which core it was written."""

from dataclasses import dataclass, field
from itertools import count

import numpy as np

Place = tuple[int, tuple[int, ...], tuple[int, ...]]
"""A first byte, nums and byte steps."""
NOBODY = -1
_numbers = count(1)


@dataclass(eq=False)
class Storage:
    """Rows of bytes: the partitions of SBUF or PSUM, or one row of an HBM tensor.

    Attributes
    ----------
    name : as errors say it.
    data : uint8 [rows, row bytes].
    written : True for each byte that something has written, of the same shape.
    owner : number of the allocation through which a byte was last written; None in HBM.
    writer, epoch : core that last wrote a byte, and the number of barriers before; None unless two cores share it.
    """

    name: str
    data: np.ndarray
    written: np.ndarray
    owner: np.ndarray | None = None
    writer: np.ndarray | None = None
    epoch: np.ndarray | None = None
    number: int = field(default_factory=lambda: next(_numbers))

    @classmethod
    def empty(cls, name: str, rows: int, row_bytes: int, *, owned: bool = False, shared: bool = False) -> "Storage":
        """Return unwritten bytes."""
        shape = rows, row_bytes
        return cls(
            name,
            np.zeros(shape, np.uint8),
            np.zeros(shape, bool),
            np.zeros(shape, np.int32) if owned else None,
            np.full(shape, NOBODY, np.int8) if shared else None,
            np.zeros(shape, np.int32) if shared else None,
        )

    @property
    def row_bytes(self) -> int:
        return self.data.shape[1]


def elements(array: np.ndarray, place: Place, dtype: np.dtype) -> np.ndarray:
    """View a byte array [rows, bytes] as the elements of a place."""
    first, nums, steps = place
    return np.ndarray(nums, dtype, array, first, steps)


def per_byte(array: np.ndarray, place: Place, size: int) -> np.ndarray:
    """View an array with an item for each byte as [nums..., size]."""
    first, nums, steps = place
    item = array.itemsize
    return np.ndarray((*nums, size), array.dtype, array, first * item, (*(step * item for step in steps), item))
