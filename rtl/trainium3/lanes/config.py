"""Configurations of ScalarE's and VectorE's lanes."""

from dataclasses import dataclass, field

from bitpath.golden.trainium3.declarations.core_rates import CORE_RATES
from bitpath.golden.trainium3.declarations.vector import XORWOW_STATES
from bitpath.rtl.common.config import PipelineConfig, require_power_of_two, require_range

INTERVAL = CORE_RATES.numerics.interval
"""Cycles of the shortest instruction of an engine."""


@dataclass(frozen=True, kw_only=True)
class Activation2Config:
    """Configuration of a lane of Activation2.

    Attributes
    ----------
    pipeline : pipeline stages before the reduction register, 0 to 3.
    checks : whether instructions are checked; without it they must be right.
    """

    pipeline: PipelineConfig = field(default_factory=lambda: PipelineConfig(stages=3))
    checks: bool = True

    def __post_init__(self) -> None:
        require_range("activation2_lane", "stages", self.pipeline.stages, 0, 3)


@dataclass(frozen=True, kw_only=True)
class Rand2Config:
    """Configuration of a lane of rand2.

    Attributes
    ----------
    width : elements a cycle, 1, 2 or 4; the machine's lane makes 4.
    pipeline : pipeline stages, 0 to 4.
    checks : whether dtypes are checked; without it they must be right.
    """

    width: int = XORWOW_STATES
    pipeline: PipelineConfig = field(default_factory=lambda: PipelineConfig(stages=4))
    checks: bool = True

    def __post_init__(self) -> None:
        require_power_of_two("rand2_lane", "width", self.width, 1, XORWOW_STATES)


@dataclass(frozen=True, kw_only=True)
class CopyConfig:
    """Configuration of the copy lanes.

    Attributes
    ----------
    interval : cycles of the shortest row, 1 to 64; the machine's instructions take 64.
    pipeline : pipeline stages before the word out, 0 to 2.
    checks : whether commands are checked; without it they must be right.
    """

    interval: int = INTERVAL
    pipeline: PipelineConfig = field(default_factory=lambda: PipelineConfig(stages=2))
    checks: bool = True

    def __post_init__(self) -> None:
        require_range("copy_lanes", "interval", self.interval, 1, INTERVAL)
        require_range("copy_lanes", "stages", self.pipeline.stages, 0, 2)


@dataclass(frozen=True, kw_only=True)
class EngineLaneConfig:
    """Configuration of a lane of tensor_scalar and tensor_tensor.

    Attributes
    ----------
    width : elements a cycle, 1, 2 or 4; the machine's VectorE takes up to 4, ScalarE 2.
    pipeline : pipeline stages, 0 to 4.
    checks : whether instructions are checked; without it they must be right.
    """

    width: int = 2
    pipeline: PipelineConfig = field(default_factory=lambda: PipelineConfig(stages=4))
    checks: bool = True

    def __post_init__(self) -> None:
        require_power_of_two("engine_lane", "width", self.width, 1, 4)
