"""Not a bench but a run: quantises blocks and leaves codes and scales; the caller compares them.

The environment names the files: BITPATH_PLAN in, BITPATH_RESULT and BITPATH_PROGRESS out.
"""

import os
from pathlib import Path

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from bitpath.rtl.trainium3.vector.config import QuantizeMxConfig
from bitpath.rtl.trainium3.vector.quantize_mx import BLOCK, QuantizeMx
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.share import write_share
from bitpath.verif.trainium3.vector.quantize_mx_tiles import MODES, load_blocks

CONFIG = config_from_environment(QuantizeMxConfig)
SHARE_CYCLES = 256
"""Between two looks at what is done."""


@cocotb.test()
async def run_blocks(dut):
    """A block a cycle; ``cycles`` are those until the last result."""
    blocks, mode = load_blocks(Path(os.environ["BITPATH_PLAN"]))
    control = MODES[mode].control
    results: list[int] = []
    async with bench(dut, QuantizeMx(CONFIG).signature, drain=False) as frame:
        driver = frame.driver("i")
        frame.monitor("o", results.append)
        for block in blocks:
            driver.send_bits(int.from_bytes(block.astype("<u2").tobytes(), "little") | control)
        cycles = 0
        while len(results) < len(blocks):
            await RisingEdge(dut.clk)
            cycles += 1
            if cycles % SHARE_CYCLES == 0:
                write_share(Path(os.environ["BITPATH_PROGRESS"]), len(results) / len(blocks))
    words = b"".join(word.to_bytes(BLOCK + 1, "little") for word in results)
    table = np.frombuffer(words, np.uint8).reshape(-1, BLOCK + 1)
    np.savez(os.environ["BITPATH_RESULT"], codes=table[:, :BLOCK], scales=table[:, BLOCK], cycles=cycles)
