"""Quantises blocks and writes codes and scales; the caller compares them.

`verif.kit.exchange` has the files.
"""

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from bitpath.rtl.trainium3.vector.quantize_mx import BLOCK, QuantizeMx, QuantizeMxConfig
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.exchange import read_input, show_share, write_result
from bitpath.verif.trainium3.vector.quantize_mx_tiles import MODES, unpacked

CONFIG = config_from_environment(QuantizeMxConfig)
SHARE_CYCLES = 256
"""Between two looks at what is done."""


@cocotb.test()
async def run_blocks(dut):
    """Run one block a cycle; ``cycles`` counts the cycles until the last result."""
    blocks, mode = read_input()
    control, element = MODES[mode].control, MODES[mode].element
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
                show_share(len(results) / len(blocks))
    words = b"".join(word.to_bytes(BLOCK + 1, "little") for word in results)
    table = np.frombuffer(words, np.uint8).reshape(-1, BLOCK + 1)
    write_result(codes=unpacked(table[:, :BLOCK], element), scales=table[:, BLOCK], cycles=cycles)
