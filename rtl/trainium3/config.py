"""Configurations of the Trainium3 units."""

from dataclasses import dataclass, field

from bitpath.golden.spec.numerics import DotNumerics
from bitpath.golden.spec.trainium3 import MAX_MOVING_FP32, PARTITIONS, TRAINIUM3_QUAD_MX
from bitpath.rtl.config import PipelineConfig, require_power_of_two, require_range

MAX_TERMS = 8
"""Products of a dot product whose sum of two rows is proved."""
MAX_LANES = 4
"""Row groups of an array, each with a result stream of its own."""
MAX_ALIGN_FRACTION_BITS = 64
"""More than any product has below its leading bit."""


def _check_numerics(unit: str, numerics: DotNumerics) -> None:
    require_power_of_two(unit, "terms", numerics.terms, 2, MAX_TERMS)
    if not numerics.element_formats:
        raise ValueError(f"{unit}: element_formats is empty, at least one format is needed")
    if numerics.align_fraction_bits is not None:
        require_range(unit, "align_fraction_bits", numerics.align_fraction_bits, 0, MAX_ALIGN_FRACTION_BITS)


@dataclass(frozen=True, kw_only=True)
class DotConfig:
    """The quad-MX dot product, and the PE around it.

    Attributes
    ----------
    numerics : what is computed.
    pipeline : register ranks inside the dot product.
    """

    numerics: DotNumerics = TRAINIUM3_QUAD_MX.numerics
    pipeline: PipelineConfig = field(default_factory=PipelineConfig)

    def __post_init__(self) -> None:
        _check_numerics("quad_mx_dot", self.numerics)


@dataclass(frozen=True, kw_only=True)
class MapConfig:
    """The FP4 map at the array's edge.

    Attributes
    ----------
    numerics : of the PEs behind it.
    """

    numerics: DotNumerics = TRAINIUM3_QUAD_MX.numerics

    def __post_init__(self) -> None:
        _check_numerics("element_map", self.numerics)


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


@dataclass(frozen=True, kw_only=True)
class EngineConfig:
    """The tensor engine: an array, PSUM and sequencers.

    Attributes
    ----------
    array : the PEs and their operand memory.
    psum_banks, psum_bank_depth : PSUM behind the array; see :class:`PsumConfig`.
    chain_depth : moving words whose partial sums can wait between two passes over the rows; the moving size of a
        contraction that needs more than one pass is limited to it.
    """

    array: ArrayConfig = field(default_factory=ArrayConfig)
    psum_banks: int = 4
    psum_bank_depth: int = 256
    chain_depth: int = 64

    def __post_init__(self) -> None:
        require_power_of_two("tensor_engine", "chain_depth", self.chain_depth, 2, MAX_MOVING_FP32)
        require_power_of_two("tensor_engine", "psum_banks", self.psum_banks, 2, 8)
        require_power_of_two("tensor_engine", "psum_bank_depth", self.psum_bank_depth, 2, 1 << 16)

    @property
    def psum(self) -> PsumConfig:
        return PsumConfig(
            cols=self.array.cols, lanes=self.array.groups, banks=self.psum_banks, bank_depth=self.psum_bank_depth
        )
