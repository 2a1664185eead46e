"""Unit records of a core and of its DMA engine."""

from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.trainium3.core.config import CoreConfig, DmaEngineConfig
from bitpath.rtl.trainium3.core.core import Core
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
    Unit(
        name="core",
        room="trainium3/core",
        config_type=CoreConfig,
        build=Core,
        summary="Trainium3: a core, HBM, SBUF, PSUM and four engines that run instructions",
        covered=Covered(CoreConfig(count_bits=14), 60),
        waves=(
            CLOCK,
            WaveGroup("program", r"(program__|idle|fault|number_)"),
            WaveGroup("host", r"host_"),
            WaveGroup("counters", r"(busy|grants|waits)"),
            WaveGroup("TensorE", r"(tensor|main|background)\."),
            WaveGroup("VectorE", r"vector\."),
            WaveGroup("ScalarE", r"scalar\."),
            WaveGroup("DMA", r"dma\."),
        ),
    ),
)
CONTROL = (
    "tensor_slots",
    "core",
    "core_dma",
    "dma_engine",
    "instruction",
    "lane_engine",
    "lane_reader",
    "tensor_operands",
)
"""Files without arithmetic."""
