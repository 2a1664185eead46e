"""Not a bench but a run: multiplies on the AIE-ML v2 engine and leaves the accumulators; the caller compares them.

The environment names the files: BITPATH_PLAN in, BITPATH_RESULT and BITPATH_PROGRESS out.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.rtl.aie_ml_v2.engine.aie_engine import AieEngine
from bitpath.rtl.aie_ml_v2.engine.config import AieEngineConfig
from bitpath.verif.aie_ml_v2.engine.job_file import load_job
from bitpath.verif.aie_ml_v2.engine.lowering import lower, result_lanes, result_words
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.player import MemoryPlayer
from bitpath.verif.kit.share import write_share
from bitpath.verif.kit.streams import resolved

CONFIG = config_from_environment(AieEngineConfig)


@cocotb.test()
async def run_job(dut):
    """Segment after segment; its output tiles are read when it ends."""
    matmul = load_job(Path(os.environ["BITPATH_PLAN"]))
    rows, _, columns = matmul.tiles
    lanes = np.zeros((rows, columns, matmul.row.lanes), np.uint32)
    products = np.prod(matmul.tiles)

    def show(retired: int) -> None:
        write_share(Path(os.environ["BITPATH_PROGRESS"]), retired / products)

    async with bench(dut, AieEngine(CONFIG).signature, drain=False, patience=None) as frame:
        player = MemoryPlayer(frame)
        for segment in lower(CONFIG, matmul):
            await player.play([segment], show)
            for row, column, address in segment.results:
                content = await player.read(address, result_words(CONFIG, matmul))
                lanes[row, column] = result_lanes(matmul, content)
        np.savez(os.environ["BITPATH_RESULT"], output=lanes, cycles=resolved(dut.busy_cycles))
