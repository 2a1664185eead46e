"""Unit record of a core's DMA engine."""

from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.trainium3.core.config import DmaEngineConfig
from bitpath.rtl.trainium3.core.dma_engine import DmaEngine
from bitpath.rtl.trainium3.dma.config import DmaMoverConfig

UNITS = (
    Unit(
        name="dma_engine",
        room="trainium3/core",
        config_type=DmaEngineConfig,
        build=DmaEngine,
        summary="Trainium3: a DMA engine, queues with priorities and classes before a mover",
        covered=Covered(DmaEngineConfig(mover=DmaMoverConfig(address_bits=17, descriptor_cycles=8)), 100),
        judges=(Judge(44, DmaEngineConfig(mover=DmaMoverConfig(descriptor_cycles=8)), 30),),
        waves=(
            CLOCK,
            WaveGroup("descriptors", r"i__"),
            WaveGroup("settings", r"(queues|classes)$"),
            WaveGroup("grants", r"grant"),
            WaveGroup("reads", r"(read__|data__)"),
            WaveGroup("writes", r"(fetch|write__|done)"),
            WaveGroup("queues inside", r"dma_queues\."),
            WaveGroup("mover inside", r"dma_mover\."),
        ),
    ),
)
CONTROL = ("dma_engine",)
"""Files without arithmetic."""
