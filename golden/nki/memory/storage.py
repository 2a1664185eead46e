"""Bytes of a memory, and the state of each: whether, by which allocation and by which core it was written."""

from dataclasses import dataclass, field
from enum import Enum
from itertools import count

import numpy as np

from bitpath.golden.nki.declarations.errors import invalid

Place = tuple[int, tuple[int, ...], tuple[int, ...]]
"""A first byte, nums and byte steps."""
NOBODY = -1
MATMUL_BEFORE, MATMUL_LAST = 1, 2
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
    writer, epoch : place in its rank of the core that last wrote a byte, and the number of barriers before; None unless two
        cores share it.
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


# Allocations: bytes at an address that a kernel gives, or in memory of their own; `placement` finds places for those.


@dataclass(eq=False)
class Allocation:
    """Bytes that one call of ``nl.ndarray`` has.

    Attributes
    ----------
    buffer : its memory: "sbuf", "psum", "shared_hbm" or "private_hbm".
    storage, partition, byte : where it begins; without an address at the start of a storage of its own.
    partitions, partition_bytes : its size; one partition in HBM.
    dtype : of its elements, as allocated.
    addressed : whether the kernel gave the address.
    name : as errors say it.
    line : of the kernel, where it was allocated; "" for a kernel's argument.
    matmul : :data:`MATMUL_LAST` for each byte that a matmul wrote last, :data:`MATMUL_BEFORE` where something else has written
        since, 0 where no matmul has written since the allocation, uint8 [partitions, bytes]; None before the first.
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
    line: str = ""
    matmul: np.ndarray | None = None
    number: int = field(default_factory=lambda: next(_numbers))

    @property
    def on_chip(self) -> bool:
        return self.buffer in ("sbuf", "psum")

    def matmul_bytes(self) -> np.ndarray:
        if self.matmul is None:
            self.matmul = np.zeros((self.partitions, self.partition_bytes), np.uint8)
        return self.matmul


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

    def __eq__(self, other: object) -> bool:
        raise invalid("a register must not be compared: the machine knows its value, the compiler does not")

    __hash__ = object.__hash__

    def __index__(self) -> int:
        return self.value

    def __int__(self) -> int:
        return self.value
