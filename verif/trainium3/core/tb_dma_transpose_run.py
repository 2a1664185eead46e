"""Runs transposes of a DMA engine's partitions, one after the other, and writes their results; the caller compares them.

`verif.kit.exchange` has the files.
"""

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from bitpath.rtl.trainium3.dma.dma_transpose import DmaTranspose, DmaTransposeConfig, transposed_layout
from bitpath.verif.kit.batches import places
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.exchange import read_input, show_share, write_result
from bitpath.verif.kit.packing import width
from bitpath.verif.trainium3.dma.dma_transpose import beat
from bitpath.verif.trainium3.refusals import no_fault

CONFIG = config_from_environment(DmaTransposeConfig)
RESULT = transposed_layout(CONFIG)


@cocotb.test()
async def run_transposes(dut):
    """Run each job on the bytes of its own memory; ``counts`` are its results, ``cycles`` those until the last one."""
    jobs = read_input()
    results: list[int] = []
    counts, cycles = [], 0
    (last, _) = places(RESULT)["last"]
    memory = b""
    async with bench(dut, DmaTranspose(CONFIG).signature, drain=False) as frame:
        data = frame.driver("data")
        commands = frame.driver("i")
        frame.monitor("fetch", lambda request: data.send_bits(beat(CONFIG, memory, request)))
        frame.monitor("o", results.append)
        frame.start("faults", no_fault(dut, "dma_transpose"))
        for number, (job, source) in enumerate(jobs):
            before, memory = len(results), source.ljust(1 << CONFIG.address_bits, b"\0")
            commands.send_bits(job.command(CONFIG))
            while len(results) == before or not results[-1] >> last & 1:
                await RisingEdge(dut.clk)
                cycles += 1
            counts.append(len(results) - before)
            show_share((number + 1) / len(jobs))
    size = -(-width(RESULT) // 8)
    table = np.frombuffer(b"".join(word.to_bytes(size, "little") for word in results), np.uint8)
    write_result(words=table.reshape(-1, size), counts=np.array(counts), cycles=cycles)
