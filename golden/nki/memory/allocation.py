"""Where tensors lie: addresses that a kernel gives, or the first place that is free.

Ref: "NKI migration guide" and "NKI memory overview", AWS Neuron documentation, 2026-08. First fit, and memory of their own for
tensors that do not fit, are chosen: the vendor's compiler places and spills as it likes.
"""

import weakref
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from bitpath.golden.nki.memory.storage import Storage

_numbers = count(1)


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
