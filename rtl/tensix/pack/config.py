"""Configuration of the packer."""

from dataclasses import dataclass

from bitpath.rtl.common.config import require_power_of_two
from bitpath.rtl.tensix.unpack.config import ConversionConfig

MOST_ROWS = 2
"""Rows that a packer takes in a cycle at most."""


@dataclass(frozen=True, kw_only=True)
class PackerConfig(ConversionConfig):
    """Configuration of a packer.

    Attributes
    ----------
    numerics : arithmetic of the conversions.
    rows : rows of 16 datums that it converts in a cycle: 1 or 2.
    """

    def __post_init__(self) -> None:
        require_power_of_two("packer", "rows", self.rows, 1, MOST_ROWS)
