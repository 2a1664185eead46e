"""Runs programs of one shape on the Tensix engine and writes their output tiles; the caller compares them.

A program that accumulates adds to the tiles that the one before it left. `verif.kit.exchange` defines the files.
"""

import cocotb
import numpy as np

from bitpath.golden.tensix.declarations.formats import FACE
from bitpath.golden.tensix.matmul.matmul import PACKED
from bitpath.rtl.tensix.engine.command import TILE_ROWS, TensixEngineConfig
from bitpath.rtl.tensix.engine.tensix_engine import TensixEngine
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.exchange import read_input, show_share, write_result
from bitpath.verif.kit.player import MemoryPlayer
from bitpath.verif.kit.streams import resolved
from bitpath.verif.tensix.engine.lowering import lower, result_words

CONFIG = config_from_environment(TensixEngineConfig)


@cocotb.test()
async def run_programs(dut):
    """Run segment after segment of each program; read the output tiles at the end of each."""
    programs = read_input()
    rows, _, columns = programs[0].tiles
    products = rows * columns * sum(program.tiles[1] for program in programs)
    dtype = PACKED[programs[0].packing.result]
    codes = np.zeros((len(programs), rows, columns, TILE_ROWS, FACE), dtype)
    times = np.zeros(codes.shape, np.uint64)

    def show(retired: int) -> None:
        show_share(retired / products)

    async with bench(dut, TensixEngine(CONFIG).signature, drain=False, patience=None) as frame:
        player = MemoryPlayer(frame)
        for index, program in enumerate(programs):
            async for row, column, data in player.output_tiles(lower(CONFIG, program), result_words(program), show):
                codes[index, row, column] = data.view(dtype).reshape(TILE_ROWS, FACE)
                times[index, row, column] = player.answer_times(player.word_bytes // dtype.itemsize).reshape(
                    TILE_ROWS, FACE
                )
        write_result(output=codes, times=times, cycles=resolved(dut.busy_cycles))
