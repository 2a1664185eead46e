"""Configurations of the systolic array and of PSUM."""

from dataclasses import dataclass, field

from amaranth import Shape
from amaranth.utils import exact_log2

from bitpath.golden.trainium3.declarations.memory import PSUM_BANK_BYTES
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.rtl.common.config import require_power_of_two, require_range
from bitpath.rtl.trainium3.array.psum_column import WORD_BYTES, PsumMode
from bitpath.rtl.trainium3.dot.config import DotConfig, require_words
from bitpath.rtl.trainium3.memory.config import WalkConfig
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
class ArrayConfig:
    """Configuration of the systolic array of quad-MX PEs and of its operand memory.

    Attributes
    ----------
    rows, cols : PEs down and across; powers of two from 2 to 128.
    operand_depth : words in each row's operand memory; a power of two. A word is one x4 element word and its scale.
    dot : configuration of each PE.
    """

    rows: int = 4
    cols: int = 4
    operand_depth: int = 512
    dot: DotConfig = field(default_factory=DotConfig)

    def __post_init__(self) -> None:
        require_power_of_two("systolic_array", "rows", self.rows, 2, PARTITIONS)
        require_power_of_two("systolic_array", "cols", self.cols, 2, PARTITIONS)
        require_power_of_two("systolic_array", "operand_depth", self.operand_depth, 2, 1 << 16)
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


@dataclass(frozen=True, kw_only=True)
class CoreArrayConfig(ArrayConfig):
    """Configuration of the same array with PEs of all modes.

    Attributes
    ----------
    rows, cols : PEs down and across; powers of two from 2 to 128.
    operand_depth : words in each row's operand memory; a power of two.
    dot : configuration of each PE of all modes.
    """

    dot: CorePeConfig = field(default_factory=CorePeConfig)

    def _check_pe(self) -> None:
        """A CorePeConfig has numerics that words can feed."""


@dataclass(frozen=True, kw_only=True)
class PsumConfig:
    """Configuration of PSUM below an array.

    Attributes
    ----------
    cols : partitions, one below each array column.
    lanes : result streams that may write in the same cycle, each to another bank.
    banks, bank_depth : number of banks, and results of each partition in a bank; powers of two.
    checks : whether the lanes' modes are checked; without it they must be right.
    """

    cols: int = 4
    lanes: int = 4
    banks: int = 4
    bank_depth: int = 64
    checks: bool = True

    def __post_init__(self) -> None:
        require_range("psum", "cols", self.cols, 1, PARTITIONS)
        require_range("psum", "lanes", self.lanes, 1, MAX_LANES)
        require_power_of_two("psum", "banks", self.banks, 2, 8)
        require_power_of_two("psum", "bank_depth", self.bank_depth, 2, 1 << 16)


@dataclass(frozen=True, kw_only=True)
class PsumMemoryConfig:
    """Configuration of PSUM at addresses; the machine has 128 partitions of 8 banks of 2 KiB.

    Attributes
    ----------
    cols : partitions.
    banks, bank_bytes : number of banks, and bytes of each partition in a bank; powers of two.
    step_bits, num_bits : bits of a pair's step, which is signed, and of its num.
    engines : engines that read and write beside TensorE.
    wait_bits : bits of each counter of waits, which stops at its largest value.
    checks : whether TensorE's commands are checked; without it they must be right.
    """

    cols: int = 2
    banks: int = 2
    bank_bytes: int = 64
    step_bits: int = 6
    num_bits: int = 4
    engines: int = 2
    wait_bits: int = 6
    checks: bool = True

    def __post_init__(self) -> None:
        require_range("psum_memory", "cols", self.cols, 1, PARTITIONS)
        require_power_of_two("psum_memory", "banks", self.banks, 2, 8)
        require_power_of_two("psum_memory", "bank_bytes", self.bank_bytes, 8, PSUM_BANK_BYTES)
        require_range("psum_memory", "step_bits", self.step_bits, 2, 16)
        require_range("psum_memory", "num_bits", self.num_bits, 1, 16)
        require_range("psum_memory", "engines", self.engines, 1, 2)
        require_range("psum_memory", "wait_bits", self.wait_bits, 1, 32)

    @property
    def psum(self) -> PsumConfig:
        """Its banks, as words of 4 bytes."""
        return PsumConfig(cols=self.cols, lanes=2, banks=self.banks, bank_depth=self.bank_bytes // WORD_BYTES)

    @property
    def walk(self) -> WalkConfig:
        """Configuration of a lane's access walker, which walks in one bank."""
        mode_bits = Shape.cast(PsumMode).width
        return WalkConfig(
            address_bits=exact_log2(self.bank_bytes),
            step_bits=self.step_bits,
            num_bits=self.num_bits,
            tag_bits=mode_bits + 1 + exact_log2(self.banks) + self.cols,
            checks=self.checks,
        )
