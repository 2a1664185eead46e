"""Configurations of the core and of its units."""

from dataclasses import dataclass

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, Chip
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS, TensixNumerics
from bitpath.rtl.common.config import UnitConfig, power_of_two
from bitpath.rtl.tensix.matrix.instruction import MatrixUnitConfig
from bitpath.rtl.tensix.pack.layouts import PackerConfig
from bitpath.rtl.tensix.sfpu.layouts import SfpuConfig
from bitpath.rtl.tensix.unpack.layouts import ConversionConfig

UNPACK_ROWS = 8
"""Rows that an unpacker writes in a cycle at most: 64 bytes of 4-bit datums."""


@dataclass(frozen=True, kw_only=True)
class ChipConfig(UnitConfig):
    """Configuration of a unit whose only choice is the chip; its numerics are those of the chip's preset.

    Attributes
    ----------
    chip : decides encodings, configuration registers, packers and numerics.
    """

    chip: Chip = Chip.WORMHOLE

    @property
    def numerics(self) -> TensixNumerics:
        return CHIP_PRESETS[self.chip].numerics


@dataclass(frozen=True, kw_only=True)
class AddressConfig(ChipConfig, unit="tensix_core"):
    """Configuration of a unit that computes addresses of L1.

    Attributes
    ----------
    chip : decides encodings, configuration registers, packers and numerics.
    l1_words : 64-byte words of L1; a power of two.
    """

    l1_words: int = power_of_two(64, 1 << 15, 4096)


@dataclass(frozen=True, kw_only=True)
class UnpackAddressConfig(AddressConfig):
    """Configuration of an unpacker's addresses.

    Attributes
    ----------
    chip : decides encodings, configuration registers, packers and numerics.
    l1_words : 64-byte words of L1; a power of two.
    unpacker : 0 or 1, of SrcA and of SrcB.
    """

    unpacker: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.unpacker not in (0, 1):
            raise ValueError(f"unpack_address: unpacker must be 0 or 1, not {self.unpacker}")


@dataclass(frozen=True, kw_only=True)
class TensixCoreConfig(AddressConfig, unit="tensix_core"):
    """Configuration of a core.

    Attributes
    ----------
    chip : decides encodings, configuration registers, packers and numerics.
    l1_words : 64-byte words of L1; a power of two.
    rows, cols : the Matrix unit's grid of dot products; powers of two up to 8 and 16.
    """

    rows: int = power_of_two(1, BLOCK_ROWS, 2)
    cols: int = power_of_two(1, COLUMNS, 4)

    @property
    def unit(self) -> MatrixUnitConfig:
        """Configuration of the Matrix unit."""
        return MatrixUnitConfig(rows=self.rows, cols=self.cols, numerics=self.numerics)

    @property
    def sfpu(self) -> SfpuConfig:
        """Configuration of the Vector unit."""
        return SfpuConfig(chip=self.chip, numerics=self.numerics)

    @property
    def unpack_conversion(self) -> ConversionConfig:
        """Configuration of the unpackers, which take 64 bytes of L1 a cycle."""
        return ConversionConfig(numerics=self.numerics, rows=UNPACK_ROWS)

    @property
    def pack_conversion(self) -> PackerConfig:
        """Configuration of the packer, which takes a row of Dst a cycle."""
        return PackerConfig(numerics=self.numerics)

    def addresses(self, unpacker: int) -> UnpackAddressConfig:
        """Return the configuration of an unpacker's addresses."""
        return UnpackAddressConfig(chip=self.chip, l1_words=self.l1_words, unpacker=unpacker)
