"""Runs of Tensix' units in the flows; the flows compare the results."""

import numpy as np

from bitpath.golden.tensix.core.state import THREADS
from bitpath.golden.tensix.declarations.formats import FACE
from bitpath.golden.tensix.matmul.matmul import PACKED
from bitpath.rtl.tensix.engine.command import TILE_ROWS
from bitpath.verif.kit.exchange import show_share
from bitpath.verif.kit.flow_run import run_of
from bitpath.verif.kit.player import MemoryPlayer
from bitpath.verif.kit.streams import resolved
from bitpath.verif.tensix.engine.lowering import lower, result_words
from bitpath.verif.tensix.program.host import CoreHost


@run_of("tensix_engine", patience=None)
async def multiply(frame, config, programs):
    """Run segment after segment of each program, and read the output tiles at the end of each.

    The programs have one shape. One that accumulates adds to the tiles that the one before it left.
    """
    rows, _, columns = programs[0].tiles
    products = rows * columns * sum(program.tiles[1] for program in programs)
    dtype = PACKED[programs[0].packing.result]
    codes = np.zeros((len(programs), rows, columns, TILE_ROWS, FACE), dtype)
    times = np.zeros(codes.shape, np.uint64)

    def show(retired: int) -> None:
        show_share(retired / products)

    player = MemoryPlayer(frame)
    for index, program in enumerate(programs):
        async for row, column, data in player.output_tiles(lower(config, program), result_words(program), show):
            codes[index, row, column] = data.view(dtype).reshape(TILE_ROWS, FACE)
            moments = player.answer_times(player.word_bytes // dtype.itemsize)
            times[index, row, column] = moments.reshape(TILE_ROWS, FACE)
    return {"output": codes, "times": times, "cycles": resolved(frame.dut.busy_cycles)}


@run_of("tensix_core", patience=None)
async def run_program(frame, config, program):
    """Run the threads' words; ``output`` are the result's bytes, ``words`` and ``word_cycles`` those of the threads in turn."""
    host = CoreHost(frame, config)
    run = await host.play(program)
    host.check_accepted()
    threads = range(THREADS)
    return {
        "output": await host.read(*program.result),
        "words": np.array([word for thread in threads for word in run.words[thread]], np.uint32),
        "word_cycles": np.array([cycle for thread in threads for cycle in run.cycles[thread]], np.int64),
        "counts": np.array([len(run.words[thread]) for thread in threads], np.int64),
        "cycles": run.length,
    }
