"""Configuration of the unpacker and the packer."""

from dataclasses import dataclass

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, TensixNumerics
from bitpath.rtl.common.config import require_power_of_two


@dataclass(frozen=True, kw_only=True)
class ConversionConfig:
    """Configuration of an unpacker or a packer.

    Attributes
    ----------
    numerics : arithmetic of the conversions.
    rows : rows of 16 datums that it converts in a cycle: 1, 2, 4 or 8; a packer has at most 2.
    """

    numerics: TensixNumerics = WORMHOLE.numerics
    rows: int = 1

    def __post_init__(self) -> None:
        require_power_of_two("conversion", "rows", self.rows, 1, BLOCK_ROWS)


@dataclass(frozen=True, kw_only=True)
class TurnBufferConfig:
    """Configuration of a turn buffer.

    Attributes
    ----------
    rows : rows of 16 datums that it takes and gives in a cycle: 1, 2, 4 or 8.
    """

    rows: int = 1

    def __post_init__(self) -> None:
        require_power_of_two("turn buffer", "rows", self.rows, 1, BLOCK_ROWS)
