"""Configurations of the memories, and of the units that address them."""

from dataclasses import dataclass

from bitpath.golden.trainium3.declarations.memory import MAX_PAIRS
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, QUADRANT
from bitpath.rtl.common.config import require_range


@dataclass(frozen=True, kw_only=True)
class WalkConfig:
    """Widths of an access walker; the machine's SBUF needs 18, 16 and 16 bits.

    Attributes
    ----------
    address_bits : bits of a byte address in a partition.
    step_bits, num_bits : bits of a pair's step, which is signed, and of its num.
    tag_bits : bits of a command that ride with its addresses; 0 for none.
    """

    address_bits: int = 8
    step_bits: int = 6
    num_bits: int = 4
    tag_bits: int = 0

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
