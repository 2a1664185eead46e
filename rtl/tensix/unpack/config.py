"""Configuration of the unpacker and the packer."""

from dataclasses import dataclass

from bitpath.golden.tensix.declarations.numerics import WORMHOLE, TensixNumerics


@dataclass(frozen=True, kw_only=True)
class ConversionConfig:
    """An unpacker or a packer.

    Attributes
    ----------
    numerics : what is computed.
    """

    numerics: TensixNumerics = WORMHOLE.numerics
