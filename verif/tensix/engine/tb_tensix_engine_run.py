"""Runs the program of a matmul on the Tensix engine and writes the Dst words; the caller compares them.

`verif.kit.exchange` defines the files.
"""

import cocotb
import numpy as np

from bitpath.golden.tensix.declarations.formats import FACE
from bitpath.rtl.tensix.engine.command import TILE_ROWS
from bitpath.rtl.tensix.engine.config import TensixEngineConfig
from bitpath.rtl.tensix.engine.tensix_engine import TensixEngine
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.exchange import read_input, show_share, write_result
from bitpath.verif.kit.player import MemoryPlayer
from bitpath.verif.kit.streams import resolved
from bitpath.verif.tensix.engine.lowering import lower, result_dtype, result_words

CONFIG = config_from_environment(TensixEngineConfig)


@cocotb.test()
async def run_program(dut):
    """Run segment after segment; read the output tiles at the end of each."""
    program = read_input()
    rows, depth, columns = program.tiles
    words = np.zeros((rows, columns, TILE_ROWS, FACE), np.uint32)
    times = np.zeros(words.shape, np.uint64)
    dtype = result_dtype(program)

    def show(retired: int) -> None:
        show_share(retired / (rows * depth * columns))

    async with bench(dut, TensixEngine(CONFIG).signature, drain=False, patience=None) as frame:
        player = MemoryPlayer(frame)
        async for row, column, data in player.output_tiles(lower(CONFIG, program), result_words(program), show):
            stored = data.view(dtype).reshape(TILE_ROWS, FACE).astype(np.uint32)
            # Results rounded to BF16 are the upper half of the words that golden gives.
            words[row, column] = stored if program.result is None else stored << 16
            times[row, column] = player.answer_times(player.word_bytes // dtype.itemsize).reshape(TILE_ROWS, FACE)
        write_result(output=words, times=times, cycles=resolved(dut.busy_cycles))
