"""Configurations of the systolic array and of PSUM."""

from dataclasses import dataclass, field

from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.rtl.common.config import require_power_of_two, require_range
from bitpath.rtl.trainium3.dot.config import DotConfig

MAX_LANES = 4
"""Row groups of an array, each with a result stream of its own."""


@dataclass(frozen=True, kw_only=True)
class ArrayConfig:
    """A systolic array of quad-MX PEs, with the operand memory that feeds its rows.

    Attributes
    ----------
    rows, cols : PEs down and across; powers of two from 2 to 128.
    operand_depth : words in each row's operand memory; a power of two. A word is one x4 element word and its scale.
    dot : of every PE.
    """

    rows: int = 4
    cols: int = 4
    operand_depth: int = 512
    dot: DotConfig = field(default_factory=DotConfig)

    def __post_init__(self) -> None:
        require_power_of_two("systolic_array", "rows", self.rows, 2, PARTITIONS)
        require_power_of_two("systolic_array", "cols", self.cols, 2, PARTITIONS)
        require_power_of_two("systolic_array", "operand_depth", self.operand_depth, 2, 1 << 16)

    @property
    def groups(self) -> int:
        """Row groups that can work on tiles of their own: four quarters, or two halves of two rows."""
        return min(MAX_LANES, self.rows)

    @property
    def group_rows(self) -> int:
        return self.rows // self.groups

    @property
    def row_latency(self) -> int:
        """Cycles from a partial sum above a PE to the one below it: its output register and the ranks in its dot."""
        return self.dot.pipeline.stages + 1


@dataclass(frozen=True, kw_only=True)
class PsumConfig:
    """PSUM below an array.

    Attributes
    ----------
    cols : partitions, one under each array column.
    lanes : result streams that may write at once, each to a bank of its own.
    banks, bank_depth : banks, and results that one holds for each partition; powers of two.
    """

    cols: int = 4
    lanes: int = 4
    banks: int = 4
    bank_depth: int = 64

    def __post_init__(self) -> None:
        require_range("psum", "cols", self.cols, 1, PARTITIONS)
        require_range("psum", "lanes", self.lanes, 1, MAX_LANES)
        require_power_of_two("psum", "banks", self.banks, 2, 8)
        require_power_of_two("psum", "bank_depth", self.bank_depth, 2, 1 << 16)
