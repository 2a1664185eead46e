"""Runs a matmul's program on the AIE-ML v2 engine and writes the accumulators; the caller compares them.

`verif.kit.exchange` has the files.
"""

import cocotb
import numpy as np

from bitpath.rtl.aie_ml_v2.engine.aie_engine import AieEngine
from bitpath.rtl.aie_ml_v2.engine.command import AieEngineConfig
from bitpath.rtl.aie_ml_v2.mac.config import LANE_BITS
from bitpath.verif.aie_ml_v2.engine.lowering import lower, result_lanes, result_words
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.exchange import read_input, show_share, write_result
from bitpath.verif.kit.player import MemoryPlayer
from bitpath.verif.kit.streams import resolved

CONFIG = config_from_environment(AieEngineConfig)


@cocotb.test()
async def run_program(dut):
    """Run the segments in order, and read the output tiles at the end of each."""
    program = read_input()
    rows, _, columns = program.tiles
    lanes = np.zeros((rows, columns, program.mode.lanes), np.uint32)
    times = np.zeros(lanes.shape, np.uint64)

    def show(retired: int) -> None:
        show_share(retired / program.instruction_count)

    async with bench(dut, AieEngine(CONFIG).signature, drain=False, patience=None) as frame:
        player = MemoryPlayer(frame)
        words = result_words(CONFIG, program.mode)
        async for row, column, content in player.output_tiles(lower(CONFIG, program), words, show):
            lanes[row, column] = result_lanes(program.mode, content)
            times[row, column] = player.answer_times(8 * player.word_bytes // LANE_BITS)[: program.mode.lanes]
        write_result(output=lanes, times=times, cycles=resolved(dut.busy_cycles))
