"""Known answers of XORWOW through the RTL: every lane and step of the archive, and the states after them.

The unit takes its own number of lanes at a time; the last ones may be fewer.

``BITPATH_KAT_DIR`` is the folder that holds them. What the RTL gives is compared with the archive, not with golden.
"""

import os
from pathlib import Path

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.rtl.trainium3.vector.xorwow import Xorwow, XorwowConfig, load_layout
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.streams import resolved
from bitpath.verif.kit.testplan import covers
from bitpath.verif.kit.values import Word
from bitpath.verif.trainium3.vector.xorwow import bits_of

CONFIG = config_from_environment(XorwowConfig)
LOAD = load_layout(CONFIG)


@covers("xorwow.known_answers", "Another author wrote the implementation independently")
@cocotb.test(timeout_time=1, timeout_unit="ms")
async def every_lane(dut):
    """16 lanes of 4 states, 64 steps, and the states after them."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "trn_xorwow.npz") as archive:
        first, numbers, last = (archive[name] for name in ("state", "out", "final"))
    async with bench(dut, Xorwow(CONFIG).signature, drain=False) as frame:
        taken = [frame.scoreboard(f"lane {lane}", 128, {"": Word(32)}) for lane in range(min(len(first), CONFIG.lanes))]
        stored = frame.scoreboard("states", 768, {"": Word(32)})
        for start in range(0, len(first), CONFIG.lanes):
            own = slice(start, start + CONFIG.lanes)
            await _run(dut, taken, stored, first[own], numbers[own], last[own])


async def _run(dut, taken, stored, first, numbers, last):
    """Load the states of some lanes, take their numbers, and compare the states after them."""
    dut.load__valid.value = 1
    for lane, states in enumerate(first):
        dut.load__payload.value = pack(LOAD, {"lane": lane, "states": bits_of(states)})
        await RisingEdge(dut.clk)
    dut.load__valid.value, dut.random__ready.value = 0, 1
    for step in range(numbers.shape[2]):
        await FallingEdge(dut.clk)
        offered = resolved(dut.random__payload)
        for lane in range(len(first)):
            taken[lane].expect(bits_of(numbers[lane, :, step]))
            taken[lane].got(offered >> 128 * lane & (1 << 128) - 1)
        await RisingEdge(dut.clk)
    dut.random__ready.value = 0
    for lane in range(len(first)):
        dut.lane.value = lane
        await FallingEdge(dut.clk)
        stored.expect(bits_of(last[lane]))
        stored.got(resolved(dut.states))
        await RisingEdge(dut.clk)
