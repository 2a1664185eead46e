"""Access patterns: which elements of a memory an instruction or a DMA transfer reads or writes, and in which order.

    byte(i1..id) = size * (offset + i1 * step1 + ... + id * stepd)

Ref: "NKI access patterns", AWS Neuron documentation, 2026-08; "Trainium/Inferentia2 Architecture Guide for NKI", 2025-12-01.
Points that they leave open are in `bitpath.golden.trainium3.declarations.memory.CHOICES`.
"""

from dataclasses import dataclass
from math import prod

import numpy as np

from bitpath.golden.arrays.arguments import checked, dtype_of, integer
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, E3M4, E4M3, E4M3FN, E5M2, FP16, FP32
from bitpath.golden.trainium3.declarations.memory import MAX_PAIRS, NUM_RANGE, PARTITION_STARTS, STEP_RANGE
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS

Pairs = tuple[tuple[int, int], ...]
"""Pairs of step and num, outermost first, in elements."""
ELEMENT_DTYPES = (
    *(DTYPES[fmt] for fmt in (FP32, BF16, FP16, E4M3, E4M3FN, E5M2, E3M4)),
    *map(np.dtype, (np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32)),
)
"""Dtypes of elements in a memory; TF32 lies in float32, x4 words in uint32 and uint16."""


@checked
@dataclass(frozen=True)
class AccessPattern:
    """Elements of SBUF or PSUM, the same in every partition.

    Attributes
    ----------
    dtype : one of `ELEMENT_DTYPES`; kept as numpy's dtype object.
    start, partitions : first partition, and number of consecutive ones. Up to 32 start at 0, 32, 64 or 96, up to 64 at 0 or
        64, more at 0.
    offset : element of the partition that the pattern starts from.
    pattern : 1 to 4 pairs (step, num), outermost first, in elements: step -32768 to 32767, num 1 to 65535.
    dma : True for a DMA transfer, which any partition may start and whose steps and nums the memory alone limits.

    Raises
    ------
    TypeError, ValueError : anything else, or an element before the start of the partition.
    """

    dtype: np.dtype
    start: int
    partitions: int
    offset: int
    pattern: tuple[tuple[int, int], ...]
    dma: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", dtype_of("dtype", self.dtype, *ELEMENT_DTYPES))
        object.__setattr__(self, "pattern", _pairs(self.pattern, MAX_PAIRS, self.dma))
        integer("partitions", self.partitions, range(1, PARTITIONS + 1))
        integer("start", self.start, range(PARTITIONS + 1 - self.partitions), f" with {self.partitions} partitions")
        if not self.dma:
            starts = next(starts for most, starts in PARTITION_STARTS.items() if self.partitions <= most)
            if self.start not in starts:
                raise ValueError(
                    f"start must be {', '.join(map(str, starts))} with {self.partitions} partitions, not {self.start}"
                )
        _check_first(self.offset, self.pattern)

    @property
    def shape(self) -> tuple[int, ...]:
        """Partitions, then the nums."""
        return self.partitions, *(num for _, num in self.pattern)

    @property
    def size(self) -> int:
        """Elements in all partitions."""
        return prod(self.shape)

    def byte_offsets(self) -> np.ndarray:
        """Return the first byte in its partition of each element, int64 [nums...]."""
        return _elements(self.offset, self.pattern) * self.dtype.itemsize

    def end(self) -> int:
        """Return the byte behind the last one that the pattern touches in a partition."""
        return _end(self.offset, self.pattern) * self.dtype.itemsize


@checked
@dataclass(frozen=True)
class HbmPattern:
    """Elements of HBM: the side of a DMA transfer that lies there.

    Attributes
    ----------
    dtype : one of `ELEMENT_DTYPES`; kept as numpy's dtype object.
    offset : element that the pattern starts from.
    pattern : 1 to 5 pairs (step, num), outermost first, in elements; beside SBUF the first pair steps over the partitions.

    Raises
    ------
    TypeError, ValueError : anything else, or an element before the start of HBM.
    """

    dtype: np.dtype
    offset: int
    pattern: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", dtype_of("dtype", self.dtype, *ELEMENT_DTYPES))
        object.__setattr__(self, "pattern", _pairs(self.pattern, MAX_PAIRS + 1, True))
        _check_first(self.offset, self.pattern)

    @property
    def shape(self) -> tuple[int, ...]:
        """The nums."""
        return tuple(num for _, num in self.pattern)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    def byte_offsets(self) -> np.ndarray:
        """Return the first byte of each element, int64 [nums...]."""
        return _elements(self.offset, self.pattern) * self.dtype.itemsize

    def end(self) -> int:
        """Return the byte behind the last one that the pattern touches."""
        return _end(self.offset, self.pattern) * self.dtype.itemsize


def _pairs(pattern: Pairs, most: int, dma: bool) -> Pairs:
    """Return the pairs as tuples, whose number, nums and steps are checked."""
    if not 0 < len(pattern) <= most:
        raise ValueError(f"pattern must have 1 to {most} pairs of step and num, not {len(pattern)}")
    for i, (step, num) in enumerate(pattern):
        if not dma:
            integer(f"step of pattern[{i}]", step, range(STEP_RANGE[0], STEP_RANGE[1] + 1))
            integer(f"num of pattern[{i}]", num, range(NUM_RANGE[0], NUM_RANGE[1] + 1))
        elif num < 1:
            raise ValueError(f"num of pattern[{i}] must be at least 1, not {num}")
    return tuple((step, num) for step, num in pattern)


def _check_first(offset: int, pattern: Pairs) -> None:
    first = offset + sum(min(0, step * (num - 1)) for step, num in pattern)
    if first < 0:
        raise ValueError(f"offset and steps must stay at 0 or above, not reach element {first}")


def _end(offset: int, pattern: Pairs) -> int:
    return offset + sum(max(0, step * (num - 1)) for step, num in pattern) + 1


def _elements(offset: int, pattern: Pairs) -> np.ndarray:
    elements = np.array(offset, np.int64)
    for step, num in pattern:
        elements = elements[..., np.newaxis] + step * np.arange(num, dtype=np.int64)
    return elements
