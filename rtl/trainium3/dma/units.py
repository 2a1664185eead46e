"""Unit records of the DMA engines."""

from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup, registered
from bitpath.rtl.trainium3.dma.config import (
    DmaCastConfig,
    DmaMoverConfig,
    DmaQueuesConfig,
    DmaTransposeConfig,
    ReadAddWriteConfig,
)
from bitpath.rtl.trainium3.dma.dma_cast import DmaCast
from bitpath.rtl.trainium3.dma.dma_mover import DmaMover
from bitpath.rtl.trainium3.dma.dma_queues import DmaQueues
from bitpath.rtl.trainium3.dma.dma_transpose import DmaTranspose
from bitpath.rtl.trainium3.dma.read_add_write import ReadAddWrite

UNITS = (
    Unit(
        name="dma_cast",
        room="trainium3/dma",
        config_type=DmaCastConfig,
        build=DmaCast,
        summary="Trainium3: a DMA beat from one of 13 dtypes to another",
        covered=Covered(DmaCastConfig(beat_bytes=4, pipeline=registered(2)), 400),
        judges=(Judge(40, DmaCastConfig(), 300),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("first element", r"(to_fp32_0|from_fp32_0)\."),
            WaveGroup("elements", r"(element|to_fp32)"),
            WaveGroup("FP32 numbers", r"fp32_"),
            WaveGroup("results", r"(from_fp32|packed|codes)"),
            OUTPUT,
        ),
    ),
    Unit(
        name="read_add_write",
        room="trainium3/dma",
        config_type=ReadAddWriteConfig,
        build=ReadAddWrite,
        summary="Trainium3: DMA beats stored, or added in BF16 or FP32 to words in memory",
        covered=Covered(ReadAddWriteConfig(), 300),
        judges=(Judge(41, ReadAddWriteConfig(), 150),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("fetch", r"fetch"),
            WaveGroup("beat", r"(beat|busy|forward|result)"),
            WaveGroup("adders", r"(lower|upper)_"),
            WaveGroup("waiting", r"(kept|level|waiting)"),
            WaveGroup("write", r"write"),
        ),
    ),
    Unit(
        name="dma_queues",
        room="trainium3/dma",
        config_type=DmaQueuesConfig,
        build=DmaQueues,
        summary="Trainium3: queues of a DMA engine with priorities and traffic classes",
        covered=Covered(DmaQueuesConfig(), 200),
        judges=(Judge(42, DmaQueuesConfig(), 120),),
        waves=(
            CLOCK,
            WaveGroup("descriptors", r"i__"),
            WaveGroup("settings", r"(queues|classes)"),
            WaveGroup("decision", r"(free|granted|grant|arbiter)"),
            WaveGroup("tokens", r"(open|bucket)"),
            WaveGroup("queues", r"(head|fifo)"),
        ),
    ),
    Unit(
        name="dma_mover",
        room="trainium3/dma",
        config_type=DmaMoverConfig,
        build=DmaMover,
        summary="Trainium3: DMA descriptors read, cast, and stored or added at the bus's pace",
        covered=Covered(DmaMoverConfig(descriptor_cycles=8), 60),
        judges=(Judge(43, DmaMoverConfig(descriptor_cycles=8), 30),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("reads", r"(read__|issue)"),
            WaveGroup("words", r"(data__|source)"),
            WaveGroup("cast", r"cast"),
            WaveGroup("beats at the destination", r"destination"),
            WaveGroup("writes", r"(fetch|write|read_add_write|marks|done)"),
        ),
    ),
    Unit(
        name="dma_transpose",
        room="trainium3/dma",
        config_type=DmaTransposeConfig,
        build=DmaTranspose,
        summary="Trainium3: an engine's part of a DMA transpose, rows in and columns out",
        covered=Covered(DmaTransposeConfig(), 100),
        judges=(Judge(46, DmaTransposeConfig(), 40),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup(
                "requests", r"(fetch|command|first|middle|address|start|place|row|low_|high_|both|last|end|takes|waits)"
            ),
            WaveGroup("pace", r"(credit|gained|price|busy|over|tile_over)"),
            WaveGroup("beats", r"(data__|notes|note|fill)"),
            WaveGroup("banks", r"(bank_|full_|held_|count)"),
            OUTPUT,
        ),
    ),
)
