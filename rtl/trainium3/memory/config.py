"""Configurations of the memories, and of the units that address them."""

from dataclasses import dataclass

from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, QUADRANT
from bitpath.rtl.common.config import require_range


@dataclass(frozen=True, kw_only=True)
class WalkConfig:
    """Widths of an access walker; the machine's SBUF needs 18, 16 and 16 bits.

    Attributes
    ----------
    address_bits : bits of a byte address in a partition.
    step_bits, num_bits : bits of a pair's step, which is signed, and of its num.
    """

    address_bits: int = 8
    step_bits: int = 6
    num_bits: int = 4

    def __post_init__(self) -> None:
        require_range("access_walker", "address_bits", self.address_bits, 3, 24)
        require_range("access_walker", "step_bits", self.step_bits, 2, 16)
        require_range("access_walker", "num_bits", self.num_bits, 1, 16)


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
