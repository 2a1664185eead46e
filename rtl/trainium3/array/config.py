"""Configurations of the systolic array and of PSUM."""

from dataclasses import dataclass, field

from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.rtl.common.config import UnitConfig, power_of_two
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.trainium3.dot.element_map import require_words
from bitpath.rtl.trainium3.tensor.config import CorePeConfig

MAX_LANES = 4
"""Largest number of row groups; each has its own result stream."""


@dataclass(frozen=True, kw_only=True)
class RowConfig:
    """Configuration of one row of the array; see :class:`ArrayConfig`, which has its fields."""

    cols: int
    operand_depth: int
    dot: DotConfig | CorePeConfig

    @property
    def row_latency(self) -> int:
        """Cycles from a partial sum above a PE to the one below it: its input register and the stages of its dot product."""
        return self.dot.pipeline.stages + 1


@dataclass(frozen=True, kw_only=True)
class ArrayConfig(UnitConfig, unit="systolic_array"):
    """Configuration of the systolic array of quad-MX PEs and of its operand memory.

    Attributes
    ----------
    rows, cols : PEs down and across; powers of two from 2 to 128.
    operand_depth : words in each row's operand memory; a power of two. A word is one x4 element word and its scale.
    dot : configuration of each PE.
    """

    rows: int = power_of_two(2, PARTITIONS, 4)
    cols: int = power_of_two(2, PARTITIONS, 4)
    operand_depth: int = power_of_two(2, 1 << 16, 512)
    dot: DotConfig = field(default_factory=DotConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_pe()

    def _check_pe(self) -> None:
        require_words("systolic_array", self.dot.numerics)

    @property
    def groups(self) -> int:
        """Row groups that can be separate tiles: four quarters, or two halves of an array with two rows."""
        return min(MAX_LANES, self.rows)

    @property
    def group_rows(self) -> int:
        return self.rows // self.groups

    @property
    def row(self) -> RowConfig:
        """The configuration of each row, which does not depend on their number."""
        return RowConfig(cols=self.cols, operand_depth=self.operand_depth, dot=self.dot)

    @property
    def row_latency(self) -> int:
        """Latency of a row in cycles; see :class:`RowConfig`."""
        return self.row.row_latency
