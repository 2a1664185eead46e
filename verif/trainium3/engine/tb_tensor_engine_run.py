"""Not a bench but a run: plays a plan on the tensor engine and leaves what PSUM held; the caller compares it.

The environment names the files: BITPATH_PLAN in, BITPATH_RESULT and BITPATH_PROGRESS out.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.golden.trainium3 import MatmulInstruction
from bitpath.golden.trainium3.declarations.quad_mx import AccumulateFlag
from bitpath.rtl.trainium3.engine.config import EngineConfig
from bitpath.rtl.trainium3.engine.tensor_engine import TensorEngine
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.share import write_share
from bitpath.verif.kit.streams import resolved
from bitpath.verif.trainium3.engine.lowering import Matmul, destination, lower, psum_places
from bitpath.verif.trainium3.engine.plan_file import load_plan
from bitpath.verif.trainium3.engine.tensor_engine_player import TensorEnginePlayer, exact_map

CONFIG = config_from_environment(EngineConfig)


def as_matmul(instruction: MatmulInstruction) -> Matmul:
    """The instruction with its destination at the bottom of PSUM."""
    return Matmul(
        stationary=instruction.stationary,
        moving=instruction.moving,
        stationary_scale=instruction.stationary_scale,
        moving_scale=instruction.moving_scale,
        psum_accumulate_flag=int(instruction.psum_accumulate_flag),
    )


@cocotb.test()
async def run_plan(dut):
    """Instruction after instruction; PSUM is read when an accumulation group ends."""
    plan = load_plan(Path(os.environ["BITPATH_PLAN"]))
    progress = Progress(Path(os.environ["BITPATH_PROGRESS"]), len(plan))
    output = np.zeros((plan[-1].output[0].stop, plan[-1].output[1].stop), np.uint32)
    async with bench(dut, TensorEngine(CONFIG).signature, drain=False, patience=None) as frame:
        player = TensorEnginePlayer(frame, CONFIG)
        await player.set_map(exact_map())
        for instruction in plan:
            matmul = as_matmul(instruction)
            segments = lower(CONFIG, [matmul])
            progress.begin(segments, resolved(dut.retired))
            await player.play(segments, progress.show)
            if instruction.psum_accumulate_flag & AccumulateFlag.LAST:
                words = await player.read(range(psum_places(CONFIG, matmul.shape)))
                output[instruction.output] = destination(CONFIG, matmul.shape, words)
        np.savez(os.environ["BITPATH_RESULT"], output=output, cycles=resolved(dut.busy_cycles))


class Progress:
    """The share of the plan that is done."""

    def __init__(self, path: Path, instructions: int):
        self.path, self.instructions = path, instructions
        self.begun = -1

    def begin(self, segments, retired: int) -> None:
        """The next instruction begins."""
        self.begun += 1
        self.base = retired
        # About half of the engine's instructions are loads; the share need not be exact.
        self.expected = max(1, sum(len(segment.commands) for segment in segments) // 2)

    def show(self, retired: int) -> None:
        """Write the share."""
        part = min(1.0, (retired - self.base) / self.expected)
        write_share(self.path, (self.begun + part) / self.instructions)
