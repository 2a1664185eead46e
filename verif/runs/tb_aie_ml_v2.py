"""Runs of AIE-ML v2's units in the flows; the flows compare the results."""

import numpy as np

from bitpath.rtl.aie_ml_v2.core.run_counters import STALLS
from bitpath.rtl.aie_ml_v2.mac.config import LANE_BITS
from bitpath.verif.aie_ml_v2.core.encoding import register_reads
from bitpath.verif.aie_ml_v2.core.host import TileHost
from bitpath.verif.aie_ml_v2.engine.lowering import lower, result_lanes, result_words
from bitpath.verif.kit.exchange import show_share
from bitpath.verif.kit.flow_run import run_of
from bitpath.verif.kit.player import MemoryPlayer
from bitpath.verif.kit.streams import resolved


@run_of("aie_engine", patience=None)
async def multiply(frame, config, program):
    """Run the segments in order, and read the accumulators of the output tiles at the end of each."""
    rows, _, columns = program.tiles
    lanes = np.zeros((rows, columns, program.mode.lanes), np.uint32)
    times = np.zeros(lanes.shape, np.uint64)

    def show(retired: int) -> None:
        show_share(retired / program.instruction_count)

    player = MemoryPlayer(frame)
    words = result_words(config, program.mode)
    async for row, column, content in player.output_tiles(lower(config, program), words, show):
        lanes[row, column] = result_lanes(program.mode, content)
        times[row, column] = player.answer_times(8 * player.word_bytes // LANE_BITS)[: program.mode.lanes]
    return {"output": lanes, "times": times, "cycles": resolved(frame.dut.busy_cycles)}


@run_of("aie_tile", patience=None)
async def run_schedule(frame, config, program):
    """Play a schedule; the result has the memory, the registers and the counters."""
    dut = frame.dut
    host = TileHost(frame, config)
    await host.load(program)
    await host.play(program.bundles)
    host.check_accepted()
    stalls = STALLS.from_bits(resolved(dut.stalls))
    registers = await host.registers(register_reads(config))
    return {
        "memory": await host.image(),
        "registers": np.array(registers, object).astype(str),
        "cycles": resolved(dut.cycles),
        "products": resolved(dut.products),
        "banks_stalls": stalls.banks,
        "bundles_stalls": stalls.bundles,
    }
