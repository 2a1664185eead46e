"""Configuration of the unpacker and the packer."""

from dataclasses import dataclass

from bitpath.golden.tensix.declarations.numerics import WORMHOLE, TensixNumerics


@dataclass(frozen=True, kw_only=True)
class ConversionConfig:
    """Configuration of an unpacker or a packer.

    Attributes
    ----------
    numerics : arithmetic of the conversions.
    """

    numerics: TensixNumerics = WORMHOLE.numerics
