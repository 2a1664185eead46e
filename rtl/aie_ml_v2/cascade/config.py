"""Configurations of the cascade and of its links."""

from dataclasses import dataclass, field

from bitpath.golden.aie_ml_v2.declarations.codes import CASCADE_BITS
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig
from bitpath.rtl.common.config import require_range

CASCADE_LANES = CASCADE_BITS // FP32.width
"""Accumulator lanes of 32 bits in a cascade word."""
MAX_CASCADE_STAGES = 64
"""Limit of this model; a row of the machine's array has fewer tiles."""


@dataclass(frozen=True, kw_only=True)
class CascadeLinkConfig:
    """Configuration of the link between two neighbours, whose width and depth are fixed."""


@dataclass(frozen=True, kw_only=True)
class CascadeConfig:
    """Configuration of a chain of multiply-accumulates.

    Attributes
    ----------
    stages : number of stages, 2 to 64.
    mac : multiply-accumulate of each stage; it must have 16 lanes, one cascade word.
    """

    stages: int = 2
    mac: VectorMacConfig = field(default_factory=lambda: VectorMacConfig(lanes=CASCADE_LANES))

    def __post_init__(self) -> None:
        require_range("cascade", "stages", self.stages, 2, MAX_CASCADE_STAGES)
        if self.mac.lanes != CASCADE_LANES:
            raise ValueError(f"cascade: mac.lanes must be {CASCADE_LANES}, not {self.mac.lanes}")
