"""Configurations of the multiplier and the dot product."""

from dataclasses import dataclass, field

from bitpath.golden.tensix.declarations.numerics import WORMHOLE, TensixNumerics
from bitpath.rtl.common.config import PipelineConfig


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
