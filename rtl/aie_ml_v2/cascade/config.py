"""Configurations of the cascade."""

from dataclasses import dataclass, field

from bitpath.golden.aie_ml_v2.declarations.codes import CASCADE_BITS
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig
from bitpath.rtl.common.config import require_range

CASCADE_LANES = CASCADE_BITS // FP32.width
"""Accumulator lanes of a word of the cascade."""
MAX_CASCADE_STAGES = 64
"""More than a row of the machine's array has."""


@dataclass(frozen=True, kw_only=True)
class CascadeLinkConfig:
    """The link between two neighbours; its width and depth leave nothing to choose."""


@dataclass(frozen=True, kw_only=True)
class CascadeConfig:
    """A chain of multiply-accumulates.

    Attributes
    ----------
    stages : of the chain, 2 to 64.
    mac : each one's multiply-accumulate; its lanes are those of an accumulator register that the cascade moves.
    """

    stages: int = 2
    mac: VectorMacConfig = field(default_factory=lambda: VectorMacConfig(lanes=CASCADE_LANES))

    def __post_init__(self) -> None:
        require_range("cascade", "stages", self.stages, 2, MAX_CASCADE_STAGES)
        if self.mac.lanes != CASCADE_LANES:
            raise ValueError(
                f"cascade: the multiply-accumulate has {self.mac.lanes} lanes, {CASCADE_LANES} are allowed"
            )
