"""Configuration of the Tensix engine."""

from dataclasses import dataclass, field

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS
from bitpath.rtl.common.config import require_power_of_two
from bitpath.rtl.tensix.matrix.config import MatrixUnitConfig
from bitpath.rtl.tensix.pack.config import PackerConfig
from bitpath.rtl.tensix.unpack.config import ConversionConfig

PACK_ROWS = 2
"""Dst rows that the packer takes in a cycle."""


@dataclass(frozen=True, kw_only=True)
class TensixEngineConfig:
    """Configuration of the engine: a Matrix unit with two unpackers, a packer and its own memories.

    Attributes
    ----------
    unit : configuration of the Matrix unit.
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
    def unpack_conversion(self) -> ConversionConfig:
        """Configuration of the unpackers, which take 64 bytes of L1 a cycle."""
        return ConversionConfig(numerics=self.unit.numerics, rows=BLOCK_ROWS)

    @property
    def pack_conversion(self) -> PackerConfig:
        """Configuration of the packer."""
        return PackerConfig(numerics=self.unit.numerics, rows=PACK_ROWS)
