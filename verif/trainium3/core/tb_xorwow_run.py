"""Runs the generators of one lane from many states, one after the other, and writes their numbers; the caller compares them.

`verif.kit.exchange` has the files.
"""

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.trainium3.declarations.vector import XORWOW_STATES
from bitpath.rtl.trainium3.vector.xorwow import Xorwow, XorwowConfig, load_layout
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.exchange import read_input, show_share, write_result
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.streams import resolved
from bitpath.verif.trainium3.vector.xorwow import bits_of

CONFIG = config_from_environment(XorwowConfig)
NUMBERS_BYTES = 4 * XORWOW_STATES


@cocotb.test()
async def run_states(dut):
    """Load each of the states and let them step; ``numbers`` are [states, steps, 4], ``cycles`` those of loads and steps."""
    states, steps = read_input()
    taken = []
    async with bench(dut, Xorwow(CONFIG).signature, drain=False) as frame:
        frame.onlook("random")
        for number, own in enumerate(states):
            dut.load__payload.value = pack(load_layout(CONFIG), {"lane": 0, "states": bits_of(own)})
            dut.load__valid.value, dut.random__ready.value = 1, 0
            await RisingEdge(dut.clk)
            dut.load__valid.value, dut.random__ready.value = 0, 1
            for _ in range(steps):
                await FallingEdge(dut.clk)
                taken.append(resolved(dut.random__payload).to_bytes(NUMBERS_BYTES * CONFIG.lanes, "little"))
                await RisingEdge(dut.clk)
            show_share((number + 1) / len(states))
    table = np.frombuffer(b"".join(taken), "<u4").reshape(len(states), steps, -1)
    write_result(numbers=table[..., :XORWOW_STATES], cycles=len(states) * (steps + 1))
