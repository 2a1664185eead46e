"""Configurations of the fidelity multiplier and the dot product."""

from dataclasses import dataclass, field

from bitpath.golden.tensix.declarations.numerics import WORMHOLE, TensixNumerics
from bitpath.rtl.common.config import PipelineConfig


@dataclass(frozen=True, kw_only=True)
class MultiplierConfig:
    """Configuration of the 7x5-bit multiplier, which has no parameters."""


@dataclass(frozen=True, kw_only=True)
class Dot16Config:
    """Configuration of the 16-term dot product.

    Attributes
    ----------
    numerics : arithmetic of the Matrix unit.
    pipeline : number of pipeline stages, 0 to 4.
    """

    numerics: TensixNumerics = WORMHOLE.numerics
    pipeline: PipelineConfig = field(default_factory=PipelineConfig)
