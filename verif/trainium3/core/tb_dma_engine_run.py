"""Runs the moves of DMA engines, one engine after the other, and writes grants and memories; the caller compares them.

`verif.kit.exchange` has the files.
"""

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from bitpath.rtl.trainium3.core.config import DmaEngineConfig
from bitpath.rtl.trainium3.core.dma_engine import DmaEngine
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.exchange import read_input, show_share, write_result
from bitpath.verif.trainium3.core.dma_engine import Host
from bitpath.verif.trainium3.refusals import no_fault

CONFIG = config_from_environment(DmaEngineConfig)
PATIENCE = 200_000
"""Cycles without a grant: a class with a low rate waits long."""
BEHIND = 40
"""Cycles behind the last grant's time, in which its last writes follow."""


@cocotb.test()
async def run_engines(dut):
    """Run each engine's moves from a reset on; ``grants`` are rows (engine, queue, cycle), ``cycles`` those until the last descriptor has ended."""
    loads = read_input()
    grants, images, cycles = [], [], 0
    async with bench(dut, DmaEngine(CONFIG).signature, drain=False, patience=PATIENCE) as frame:
        host = Host(frame, CONFIG, pauses.rng("memory"), compares=False)
        frame.start("faults", no_fault(dut, "dma_engine"))
        for number, load in enumerate(loads):
            await host.reset()
            host.memories.source = load.source
            host.memories.target.words = list(load.target)
            host.start(load.schedule, load.moves)
            while len(host.granted) < len(load.moves):
                await RisingEdge(dut.clk)
            for _ in range(max(each.move.cycles(CONFIG.mover) for each in load.moves) + BEHIND):
                await RisingEdge(dut.clk)
            assert len(host.granted) == len(load.moves), "a grant that no descriptor asked for"
            grants += [(number, *each) for each in host.granted]
            images.append(b"".join(host.memories.target.words))
            cycles = max(cycles, load.end(host.granted, CONFIG))
            show_share((number + 1) / len(loads))
        write_result(
            grants=np.array(grants, np.int64),
            images=np.frombuffer(b"".join(images), np.uint8).reshape(len(loads), -1),
            cycles=cycles,
        )
