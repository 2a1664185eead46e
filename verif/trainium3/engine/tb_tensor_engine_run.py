"""Runs a matmul's program on the tensor engine and writes what PSUM held; the caller compares it.

`verif.kit.exchange` has the files.
"""

import cocotb
import numpy as np

from bitpath.golden.trainium3 import MatmulInstruction
from bitpath.golden.trainium3.declarations.quad_mx import AccumulateFlag
from bitpath.rtl.trainium3.engine.instruction import EngineConfig
from bitpath.rtl.trainium3.engine.tensor_engine import TensorEngine
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.exchange import read_input, show_share, write_result
from bitpath.verif.kit.streams import resolved
from bitpath.verif.trainium3.engine.lowering import PlacedMatmul, destination, lower, psum_places
from bitpath.verif.trainium3.engine.session import TensorEnginePlayer, exact_map
from bitpath.verif.trainium3.refusals import no_fault

CONFIG = config_from_environment(EngineConfig)


def placed(instruction: MatmulInstruction) -> PlacedMatmul:
    """The instruction with its destination at the bottom of PSUM."""
    return PlacedMatmul(
        stationary=instruction.stationary,
        moving=instruction.moving,
        stationary_scale=instruction.stationary_scale,
        moving_scale=instruction.moving_scale,
        psum_accumulate_flag=int(instruction.psum_accumulate_flag),
        tile_row=instruction.tile_row,
        tile_rows=instruction.tile_rows,
    )


@cocotb.test()
async def run_program(dut):
    """Run the instructions in order, and read PSUM when an accumulation group ends."""
    program = read_input()
    progress = Progress(len(program))
    output = np.zeros([side.stop for side in program[-1].output], np.uint32)
    times = np.zeros(output.shape, np.uint64)
    async with bench(dut, TensorEngine(CONFIG).signature, drain=False, patience=None) as frame:
        player = TensorEnginePlayer(frame, CONFIG)
        frame.start("faults", no_fault(dut, "tensor_engine"))
        await player.set_map(exact_map())
        for instruction in program:
            matmul = placed(instruction)
            segments = lower(CONFIG, [matmul])
            progress.begin(segments, resolved(dut.retired))
            await player.play(segments, progress.show)
            if instruction.psum_accumulate_flag & AccumulateFlag.LAST:
                words = await player.read(range(psum_places(CONFIG, matmul.shape)))
                output[instruction.output] = destination(CONFIG, matmul.shape, words)
                times[instruction.output] = destination(CONFIG, matmul.shape, player.answer_times(CONFIG.array.cols))
        write_result(output=output, times=times, cycles=resolved(dut.busy_cycles))


class Progress:
    """The share of the program that is done."""

    def __init__(self, instructions: int):
        self.instructions = instructions
        self.begun = -1

    def begin(self, segments, retired: int) -> None:
        self.begun += 1
        self.base = retired
        # About half of the engine's instructions are loads; the share need not be exact.
        self.expected = max(1, sum(len(segment.commands) for segment in segments) // 2)

    def show(self, retired: int) -> None:
        part = min(1.0, (retired - self.base) / self.expected)
        show_share((self.begun + part) / self.instructions)
