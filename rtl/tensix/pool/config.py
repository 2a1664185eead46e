"""Configuration of GMPOOL."""

from dataclasses import dataclass, field

from bitpath.golden.tensix.declarations.numerics import WORMHOLE, TensixNumerics
from bitpath.rtl.common.config import PipelineConfig


@dataclass(frozen=True, kw_only=True)
class GmpoolColumnConfig:
    """Configuration of one column of GMPOOL.

    Attributes
    ----------
    numerics : ``gmpool_fp16`` alone.
    pipeline : number of pipeline stages, 0 to 4.
    """

    numerics: TensixNumerics = WORMHOLE.numerics
    pipeline: PipelineConfig = field(default_factory=PipelineConfig)
