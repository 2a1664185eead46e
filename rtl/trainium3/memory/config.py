"""Configurations of the memories, and of the units that address them."""

from dataclasses import dataclass

from amaranth.utils import exact_log2

from bitpath.golden.trainium3.declarations.memory import ENGINE_PARTITIONS, MAX_PAIRS
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, QUADRANT
from bitpath.rtl.common.config import require_power_of_two, require_range
from bitpath.rtl.trainium3.dma.config import ReadAddWriteConfig

SBUF_WORD_BYTES = 8
"""Bytes that an engine reads or writes in an SBUF partition and cycle."""


@dataclass(frozen=True, kw_only=True)
class WalkConfig:
    """Widths of an access walker; the machine's SBUF needs 18, 16 and 16 bits.

    Attributes
    ----------
    address_bits : bits of a byte address in a partition.
    step_bits, num_bits : bits of a pair's step, which is signed, and of its num.
    tag_bits : bits of a command that ride with its addresses; 0 for none.
    checks : whether commands are checked; without it they must be right.
    """

    address_bits: int = 8
    step_bits: int = 6
    num_bits: int = 4
    tag_bits: int = 0
    checks: bool = True

    def __post_init__(self) -> None:
        require_range("access_walker", "address_bits", self.address_bits, 3, 24)
        require_range("access_walker", "step_bits", self.step_bits, 2, 16)
        require_range("access_walker", "num_bits", self.num_bits, 1, 16)
        require_range("access_walker", "tag_bits", self.tag_bits, 0, 256)


@dataclass(frozen=True, kw_only=True)
class ScaleFetchConfig:
    """Configuration of a scale fetch.

    Attributes
    ----------
    quadrants : quadrants of 32 rows that the array has.
    """

    quadrants: int = PARTITIONS // QUADRANT

    def __post_init__(self) -> None:
        require_range("scale_fetch", "quadrants", self.quadrants, 1, PARTITIONS // QUADRANT)


@dataclass(frozen=True, kw_only=True)
class IndirectConfig:
    """Configuration of the offsets of an indirect access.

    Attributes
    ----------
    offset_bits : bits of an offset: 16 or 32 on the machine.
    count_bits : bits of a command's number of offsets.
    """

    offset_bits: int = 6
    count_bits: int = 8

    def __post_init__(self) -> None:
        require_range("indirect_offsets", "offset_bits", self.offset_bits, 1, 32)
        require_range("indirect_offsets", "count_bits", self.count_bits, 1, 16)


@dataclass(frozen=True, kw_only=True)
class DgeConfig:
    """Widths of descriptor generation; the machine needs 38, 18, 38, 16 and 16 bits.

    Attributes
    ----------
    hbm_bits : bits of a byte address in HBM.
    partition_bits : bits of a byte address in an SBUF partition.
    step_bits, num_bits : bits of a pair's step, which is signed, and of its num.
    cut_bits : logarithm of the most bytes of a descriptor.
    """

    hbm_bits: int = 9
    partition_bits: int = 7
    step_bits: int = 7
    num_bits: int = 3
    cut_bits: int = 4

    def __post_init__(self) -> None:
        require_range("dge", "hbm_bits", self.hbm_bits, 3, 38)
        require_range("dge", "partition_bits", self.partition_bits, 3, 18)
        require_range("dge", "step_bits", self.step_bits, 2, 38)
        require_range("dge", "num_bits", self.num_bits, 1, 18)
        require_range("dge", "cut_bits", self.cut_bits, 2, 16)

    @property
    def address_bits(self) -> int:
        """Bits of an element's place in either memory."""
        return max(self.hbm_bits, self.partition_bits)

    @property
    def byte_bits(self) -> int:
        """Bits of a byte address of either memory, SBUF's with the partition."""
        return max(self.hbm_bits, (PARTITIONS - 1).bit_length() + self.partition_bits)

    @property
    def count_bits(self) -> int:
        """Bits of the elements of a partition."""
        return MAX_PAIRS * self.num_bits

    @property
    def run_bits(self) -> int:
        """Bits of the elements of a run, which lies in one memory."""
        return max(self.address_bits + 1, self.num_bits)


@dataclass(frozen=True, kw_only=True)
class SbufConfig:
    """Configuration of SBUF; the machine has 128 partitions of 256 KiB, in four quadrants.

    Attributes
    ----------
    partitions : a power of two from 4 to 128.
    partition_bytes : a power of two from 64 to 4096.
    banks : 8-byte words of a DMA access: 2, or 4 as on the machine.
    readers : engines that only read: one read port each, before those of ``engines``.
    engines : engines with a read port and a write port each.
    wait_bits : bits of the counter of a DMA port's waits, which stops at its largest value.
    adds : whether a DMA port has read-add-write; without it every beat stores.
    checks : whether the accesses are checked; without it they must be right.
    """

    partitions: int = 8
    partition_bytes: int = 64
    banks: int = 2
    readers: int = 0
    engines: int = 2
    wait_bits: int = 5
    adds: bool = True
    checks: bool = True

    def __post_init__(self) -> None:
        require_power_of_two("sbuf", "partitions", self.partitions, 4, PARTITIONS)
        require_power_of_two("sbuf", "partition_bytes", self.partition_bytes, 64, 4096)
        require_power_of_two("sbuf", "banks", self.banks, 2, 4)
        require_range("sbuf", "engines", self.engines, 1, 6)
        require_range("sbuf", "readers", self.readers, 0, 6 - self.engines)
        require_range("sbuf", "wait_bits", self.wait_bits, 1, 32)

    @property
    def read_ports(self) -> int:
        return self.readers + self.engines

    @property
    def group(self) -> int:
        """Partitions of a DMA port."""
        return min(ENGINE_PARTITIONS, self.partitions)

    @property
    def groups(self) -> int:
        return self.partitions // self.group

    @property
    def dma_bytes(self) -> int:
        """Bytes of a row, which a DMA access takes."""
        return self.banks * SBUF_WORD_BYTES

    @property
    def word_bits(self) -> int:
        """Bits of a word's place in its partition."""
        return exact_log2(self.partition_bytes // SBUF_WORD_BYTES)

    @property
    def row_bits(self) -> int:
        """Bits of a row's place in its partition."""
        return exact_log2(self.partition_bytes // self.dma_bytes)

    @property
    def beats(self) -> ReadAddWriteConfig:
        """Beats of a DMA port: the address of a row, with its partition above it."""
        return ReadAddWriteConfig(
            beat_bytes=self.dma_bytes, address_bits=self.row_bits + exact_log2(self.group), checks=self.checks
        )
