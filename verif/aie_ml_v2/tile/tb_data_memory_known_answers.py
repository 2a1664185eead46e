"""Known answers of bank conflicts: cycles until the memory has served the requests of one memory cycle.

``BITPATH_KAT_DIR`` is the folder that holds them.
"""

import os
from pathlib import Path

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.rtl.aie_ml_v2.tile.data_memory import DataMemory, DataMemoryConfig
from bitpath.verif.aie_ml_v2.tile.data_memory import Access
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.streams import resolved
from bitpath.verif.kit.testplan import covers

CONFIG = config_from_environment(DataMemoryConfig)
PORTS = ("load__0", "load__1", "store")


@covers("data_memory.known_answers", "Another program computed them")
@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_cycle(dut):
    """Stalls of 400 memory cycles at the machine's size."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "aie_tile_agu.npz") as archive:
        cases = [*zip(*(archive[f"bank_{name}"].tolist() for name in ("addr", "width", "stall")), strict=True)]
    async with bench(dut, DataMemory(CONFIG).signature, drain=False) as frame:
        board = frame.scoreboard("stalls", 8, output="stall")
        dut.advance.value = 1
        for number, (addresses, widths, stalls) in enumerate(cases):
            for port, (name, address, width) in enumerate(zip(PORTS, addresses, widths, strict=True)):
                access = Access(address, max(width, 1).bit_length() - 1)
                getattr(dut, f"{name}__payload").value = access.payload(CONFIG, port == 2)
                getattr(dut, f"{name}__valid").value = width != 0
            waited = 0
            await FallingEdge(dut.clk)
            while resolved(dut.stall):
                waited += 1
                await FallingEdge(dut.clk)
            assert not resolved(dut.error)
            board.expect(stalls, f"case {number}")
            board.got(waited)
            await RisingEdge(dut.clk)
