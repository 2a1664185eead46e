"""Configuration of GMPOOL."""

from dataclasses import dataclass, field

from bitpath.rtl.common.config import PipelineConfig


@dataclass(frozen=True, kw_only=True)
class GmpoolColumnConfig:
    """Configuration of one column of GMPOOL.

    Attributes
    ----------
    pipeline : number of pipeline stages, 0 to 4.
    """

    pipeline: PipelineConfig = field(default_factory=PipelineConfig)
