"""Not a bench but a run: multiplies tiles on the Tensix engine and leaves what Dst held; the caller compares it.

The environment names the files: BITPATH_PLAN in, BITPATH_RESULT and BITPATH_PROGRESS out.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.golden.tensix.declarations.formats import FACE
from bitpath.rtl.tensix.engine.command import TILE_ROWS
from bitpath.rtl.tensix.engine.config import TensixEngineConfig
from bitpath.rtl.tensix.engine.tensix_engine import TensixEngine
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.player import MemoryPlayer
from bitpath.verif.kit.share import write_share
from bitpath.verif.kit.streams import resolved
from bitpath.verif.tensix.engine.job_file import load_job
from bitpath.verif.tensix.engine.lowering import lower

CONFIG = config_from_environment(TensixEngineConfig)


@cocotb.test()
async def run_job(dut):
    """Segment after segment; its output tiles are read when it ends."""
    matmul = load_job(Path(os.environ["BITPATH_PLAN"]))
    rows, depth, columns = *matmul.left.shape[:2], matmul.right.shape[1]
    words = np.zeros((rows, columns, TILE_ROWS, FACE), np.uint32)
    products = rows * depth * columns

    def show(retired: int) -> None:
        write_share(Path(os.environ["BITPATH_PROGRESS"]), retired / products)

    async with bench(dut, TensixEngine(CONFIG).signature, drain=False, patience=None) as frame:
        player = MemoryPlayer(frame)
        for segment in lower(CONFIG, matmul):
            await player.play([segment], show)
            for row, column, address in segment.results:
                data = await player.read(address, matmul.result_words)
                words[row, column] = data.view("<u4" if matmul.dst32 else "<u2").reshape(TILE_ROWS, FACE)
        np.savez(os.environ["BITPATH_RESULT"], output=words, cycles=resolved(dut.busy_cycles))
