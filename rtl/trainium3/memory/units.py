"""Unit records of Trainium3's memories and of the units that address them."""

from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.trainium3.memory.access_walker import AccessWalker
from bitpath.rtl.trainium3.memory.config import (
    DgeConfig,
    IndirectConfig,
    SbufConfig,
    ScaleFetchConfig,
    WalkConfig,
)
from bitpath.rtl.trainium3.memory.dge import Dge
from bitpath.rtl.trainium3.memory.indirect_offsets import IndirectOffsets
from bitpath.rtl.trainium3.memory.sbuf import Sbuf
from bitpath.rtl.trainium3.memory.scale_fetch import ScaleFetch

UNITS = (
    Unit(
        name="access_walker",
        room="trainium3/memory",
        config_type=WalkConfig,
        build=AccessWalker,
        summary="Trainium3: byte addresses of an access pattern, one a cycle",
        covered=Covered(WalkConfig(), 300),
        judges=(Judge(31, WalkConfig(), 100),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("command", r"(command|reach|waiting|found)"),
            WaveGroup("walk", r"(walking|element|size|count|most|delta|last)"),
            WaveGroup("fault", r"(fault|clear|busy)$"),
            OUTPUT,
        ),
    ),
    Unit(
        name="scale_fetch",
        room="trainium3/memory",
        config_type=ScaleFetchConfig,
        build=ScaleFetch,
        summary="Trainium3: scales of an MX operand out of SBUF's quadrants, a column a cycle",
        covered=Covered(ScaleFetchConfig(), 100),
        judges=(Judge(32, ScaleFetchConfig(), 40),),
    ),
    Unit(
        name="indirect_offsets",
        room="trainium3/memory",
        config_type=IndirectConfig,
        build=IndirectOffsets,
        summary="Trainium3: offsets of a gather or scatter out of an index tile, one a cycle",
        covered=Covered(IndirectConfig(), 100),
        judges=(Judge(33, IndirectConfig(), 40),),
        waves=(
            CLOCK,
            WaveGroup("commands", r"(i__|command|active)"),
            WaveGroup("columns", r"(index__|filled|row$)"),
            WaveGroup("offsets", r"(offset|inside|last|taken|outside|clear)$"),
            OUTPUT,
            WaveGroup("column", r"column"),
        ),
    ),
    Unit(
        name="dge",
        room="trainium3/memory",
        config_type=DgeConfig,
        build=Dge,
        summary="Trainium3: descriptor generation, a run of both sides a cycle",
        covered=Covered(DgeConfig(), 200),
        judges=(Judge(34, DgeConfig(), 120),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("command", r"(command|fsm_state|step$|found|fault|clear|busy)"),
            WaveGroup("runs", r"(present|there|boundary|joins|chunk|room|bytes_|advance|finished|leaves)"),
            WaveGroup("source", r"source\."),
            WaveGroup("destination", r"destination\."),
            OUTPUT,
        ),
    ),
    Unit(
        name="sbuf",
        room="trainium3/memory",
        config_type=SbufConfig,
        build=Sbuf,
        summary="Trainium3: SBUF, engines at full rate and DMA ports that give way",
        covered=Covered(SbufConfig(), 100),
        judges=(Judge(37, SbufConfig(), 40),),
        waves=(
            CLOCK,
            WaveGroup("engines", r"(read__|write__|data__|uses|shown|used|first)"),
            WaveGroup("DMA", r"dma_"),
            WaveGroup("faults and waits", r"(fault|clear|waits)"),
            WaveGroup("cells", r"cells_"),
        ),
    ),
)
