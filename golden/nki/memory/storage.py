"""Bytes of a memory, and the state of each: whether, by which allocation and by which core it was written."""

import weakref
from dataclasses import dataclass, field
from enum import Enum
from itertools import count

import numpy as np

from bitpath.golden.nki.declarations.errors import invalid

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
        """Return bytes that nothing has written."""
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


def per_byte(array: np.ndarray, place: Place, size: int) -> np.ndarray:
    """View an array with an item for each byte as [nums..., size]."""
    first, nums, steps = place
    item = array.itemsize
    return np.ndarray((*nums, size), array.dtype, array, first * item, (*(step * item for step in steps), item))


@dataclass(frozen=True)
class Access:
    """A box of bytes that an instruction reads or writes: partitions and bytes of a storage, ends not included."""

    storage: int
    rows: tuple[int, int]
    bytes: tuple[int, int]

    def meets(self, other: "Access") -> bool:
        """Return whether both boxes have a byte in common."""
        return self.storage == other.storage and _meet(self.rows, other.rows) and _meet(self.bytes, other.bytes)


def _meet(first: tuple[int, int], second: tuple[int, int]) -> bool:
    return max(first[0], second[0]) < min(first[1], second[1])


# Places of tensors: addresses that a kernel gives, or the first place that is free.
#
# Ref: "NKI migration guide" and "NKI memory overview", AWS Neuron documentation, 2026-08. First fit, and memory of their own for
# tensors that do not fit, are chosen: the vendor's compiler places and spills as it likes.


@dataclass(eq=False)
class Allocation:
    """Bytes that one call of ``nl.ndarray`` has.

    Attributes
    ----------
    buffer : its memory: "sbuf", "psum", "shared_hbm" or "private_hbm".
    storage, partition, byte : where it begins.
    partitions, partition_bytes : its size; one partition in HBM.
    dtype : of its elements, as allocated.
    addressed : whether the kernel gave the address.
    name : as errors say it.
    matmul : True for each byte that a matmul has written since the allocation, [partitions, bytes]; None before the first.
    """

    buffer: str
    storage: Storage
    partition: int
    byte: int
    partitions: int
    partition_bytes: int
    dtype: str
    addressed: bool
    name: str
    matmul: np.ndarray | None = None
    number: int = field(default_factory=lambda: next(_numbers))

    @property
    def on_chip(self) -> bool:
        return self.buffer in ("sbuf", "psum")

    def matmul_bytes(self) -> np.ndarray:
        if self.matmul is None:
            self.matmul = np.zeros((self.partitions, self.partition_bytes), bool)
        return self.matmul


class Allocator:
    """First-fit placement in a memory's partitions; a place is free again when its last tensor is gone.

    Parameters
    ----------
    size : bytes of a partition that may be used.
    unit : places start at multiples of it.
    """

    def __init__(self, size: int, unit: int):
        self.size, self.unit = size, unit
        self.taken: dict[int, tuple[int, int]] = {}
        self.high = 0

    def place(self, length: int) -> int | None:
        """Return the first byte of a free place, or None."""
        first = 0
        for start, end in sorted(self.taken.values()):
            if start - first >= length:
                break
            first = max(first, -(-end // self.unit) * self.unit)
        return first if first + length <= self.size else None

    def take(self, allocation: Allocation) -> None:
        """Keep an allocation's bytes taken as long as it lives."""
        end = allocation.byte + allocation.partition_bytes
        self.taken[allocation.number] = allocation.byte, end
        self.high = max(self.high, end)
        weakref.finalize(allocation, self.taken.pop, allocation.number, None)


# Memories of a core, as ``nl`` names them.


class MemoryRegion(Enum):
    """Ref: ``nki.language`` reference page, NKI 0.6; ``hbm`` is ``private_hbm``."""

    sbuf = "sbuf"
    psum = "psum"
    private_hbm = "private_hbm"
    shared_hbm = "shared_hbm"
    hbm = "private_hbm"


# Registers of 32 bits, which steer dynamic loops and addresses.


@dataclass(eq=False)
class VirtualRegister:
    """A scalar register of a kernel. Its truth is its value, so that ``while register:`` ends when it is 0.

    Attributes
    ----------
    value : signed 32 bits.
    frozen : True for a loop's variable, which nothing else may write.
    """

    value: int = 0
    frozen: bool = False

    def write(self, value: int) -> None:
        """Keep the low 32 bits, as a signed number."""
        if self.frozen:
            raise invalid("a loop's variable must not be written")
        self.value = (int(value) + (1 << 31)) % (1 << 32) - (1 << 31)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        return self.value

    def __int__(self) -> int:
        return self.value
