"""Configurations of ScalarE's and VectorE's lanes."""

from dataclasses import dataclass, field

from bitpath.rtl.common.config import PipelineConfig, require_range


@dataclass(frozen=True, kw_only=True)
class Activation2Config:
    """Configuration of a lane of Activation2.

    Attributes
    ----------
    pipeline : pipeline stages before the reduction register, 0 to 3.
    """

    pipeline: PipelineConfig = field(default_factory=lambda: PipelineConfig(stages=3))

    def __post_init__(self) -> None:
        require_range("activation2_lane", "stages", self.pipeline.stages, 0, 3)


@dataclass(frozen=True, kw_only=True)
class Rand2Config:
    """Configuration of a lane of rand2.

    Attributes
    ----------
    pipeline : pipeline stages, 0 to 4.
    """

    pipeline: PipelineConfig = field(default_factory=lambda: PipelineConfig(stages=4))
