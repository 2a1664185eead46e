"""Configurations of the Tensix units."""

from dataclasses import dataclass, field

from bitpath.golden.spec.tensix import BLOCK_ROWS, COLUMNS
from bitpath.golden.spec.tensix_numerics import WORMHOLE, TensixNumerics
from bitpath.rtl.config import PipelineConfig, require_power_of_two


@dataclass(frozen=True, kw_only=True)
class MultiplierConfig:
    """The 7x5-bit multiplier; its fields and phases leave nothing to choose."""


@dataclass(frozen=True, kw_only=True)
class Dot16Config:
    """The 16-term dot product.

    Attributes
    ----------
    numerics : what is computed.
    pipeline : register ranks inside.
    """

    numerics: TensixNumerics = WORMHOLE.numerics
    pipeline: PipelineConfig = field(default_factory=PipelineConfig)


@dataclass(frozen=True, kw_only=True)
class ConversionConfig:
    """An unpacker or a packer.

    Attributes
    ----------
    numerics : what is computed.
    """

    numerics: TensixNumerics = WORMHOLE.numerics


@dataclass(frozen=True, kw_only=True)
class MatrixUnitConfig:
    """The Matrix unit with SrcA, SrcB and Dst, which always have the machine's size.

    Attributes
    ----------
    rows, cols : dot products down and across; powers of two up to 8 and 16. A unit with fewer than the machine's 8x16
        takes as many more cycles for an instruction.
    numerics : what is computed.
    """

    rows: int = 2
    cols: int = 4
    numerics: TensixNumerics = WORMHOLE.numerics

    def __post_init__(self) -> None:
        require_power_of_two("matrix_unit", "rows", self.rows, 1, BLOCK_ROWS)
        require_power_of_two("matrix_unit", "cols", self.cols, 1, COLUMNS)

    @property
    def any_src_a_block(self) -> bool:
        """Whether an instruction's SrcA rows may start at any 8-row block, or at every second one."""
        return self.numerics.src_a_row_step == BLOCK_ROWS

    @property
    def passes(self) -> int:
        """Cycles for which an instruction occupies the unit."""
        return BLOCK_ROWS // self.rows * (COLUMNS // self.cols)


@dataclass(frozen=True, kw_only=True)
class TensixEngineConfig:
    """The engine: a Matrix unit with two unpackers, a packer and memories of its own.

    Attributes
    ----------
    unit : the Matrix unit.
    operand_depth : 64-byte words in each of the two operand memories; a power of two.
    result_depth : 64-byte words in the result memory; a power of two.
    """

    unit: MatrixUnitConfig = field(default_factory=MatrixUnitConfig)
    operand_depth: int = 256
    result_depth: int = 256

    def __post_init__(self) -> None:
        require_power_of_two("tensix_engine", "operand_depth", self.operand_depth, 64, 1 << 16)
        require_power_of_two("tensix_engine", "result_depth", self.result_depth, 64, 1 << 16)

    @property
    def conversion(self) -> ConversionConfig:
        """Of the unpackers and the packer."""
        return ConversionConfig(numerics=self.unit.numerics)
