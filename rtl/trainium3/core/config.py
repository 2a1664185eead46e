"""Configuration of a DMA engine."""

from dataclasses import dataclass, field

from bitpath.rtl.trainium3.dma.config import DmaMoverConfig, DmaQueuesConfig


@dataclass(frozen=True, kw_only=True)
class DmaEngineConfig:
    """Configuration of a DMA engine.

    Attributes
    ----------
    queues, depth : as of `DmaQueuesConfig`.
    mover : the mover behind the queues.
    """

    queues: int = 4
    depth: int = 2
    mover: DmaMoverConfig = field(default_factory=DmaMoverConfig)

    def __post_init__(self) -> None:
        DmaQueuesConfig(queues=self.queues, depth=self.depth)
