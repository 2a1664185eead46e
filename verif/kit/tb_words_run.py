"""Bench of any unit whose ports are streams: sends words and writes the words of `o`; the caller compares them.

`verif.kit.exchange` has the files.
"""

import numpy as np
from cocotb.triggers import RisingEdge

from bitpath.rtl.units import find_unit
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.exchange import show_share
from bitpath.verif.kit.flow_run import of_each_input
from bitpath.verif.kit.packing import width

SHARE_CYCLES = 256
"""Between two looks at what is done."""


@of_each_input
async def run_words(dut, given):
    """Send a word of each stream a cycle; ``cycles`` counts the cycles until the last result."""
    unit = find_unit(given.unit)
    results: list[int] = []
    signature = unit.build(config_from_environment(unit.config_type)).signature
    async with bench(dut, signature, drain=False) as frame:
        frame.monitor("o", results.append)
        for name, words in given.words.items():
            driver = frame.driver(name)
            for word in words:
                driver.send_bits(word)
        cycles = 0
        while len(results) < given.results:
            await RisingEdge(dut.clk)
            cycles += 1
            if cycles % SHARE_CYCLES == 0:
                show_share(len(results) / given.results)
        size = -(-width(frame.payload_shape("o")) // 8)
    table = np.frombuffer(b"".join(word.to_bytes(size, "little") for word in results), np.uint8)
    return {"words": table.reshape(-1, size), "cycles": cycles}
