"""Bench of the tensor engine: short programs of loads and passes in any order, PSUM word for PSUM word with golden.

``BITPATH_CASES`` are programs of each tiling.
"""

import os

import cocotb

from bitpath.golden.trainium3.declarations.quad_mx import AccumulateFlag
from bitpath.rtl.trainium3.array.systolic_array import Tiling, tilings
from bitpath.rtl.trainium3.dot.element_map import ElementFormat
from bitpath.rtl.trainium3.engine.instruction import EngineConfig
from bitpath.rtl.trainium3.engine.tensor_engine import TensorEngine
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import ENGINE_PATIENCE_CYCLES, bench, config_from_environment
from bitpath.verif.kit.coverage import cross
from bitpath.verif.kit.engine_host import source_of
from bitpath.verif.kit.player import Segment
from bitpath.verif.kit.streams import resolved
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.engine.programs import (
    LOADS,
    PLACES,
    WAYS,
    WORDS,
    Load,
    Pass,
    PassModel,
    bins_of,
    random_program,
)
from bitpath.verif.trainium3.engine.session import begin, compare

CONFIG = config_from_environment(EngineConfig)
SIGNATURE = TensorEngine(CONFIG).signature
CASES = int(os.environ.get("BITPATH_CASES", "24"))
LENGTH = 100
"""Instructions of a random program."""
CHECKED = PLACES + 2
"""Places of a bank that are read: behind those that programs use nothing may be written."""
LIMIT = {"timeout_time": 1000 + 100 * CASES, "timeout_unit": "us"}
"""Three times what so many programs take, and the start."""


@covers("tensor_engine.passes", "A pass could start with the operands that its own load was about to replace")
@cocotb.test(**LIMIT)
@cocotb.parametrize(gap=[0.0, 0.6])
async def single_passes(dut, gap):
    """Programs of loads, used by none, one or several passes, and of passes of one word and more, chained or not, in
    all tiles, at every pace."""
    async with bench(dut, SIGNATURE, patience=ENGINE_PATIENCE_CYCLES) as frame:
        player, model = await begin(frame, CONFIG, CHECKED, gap=gap)
        rng = pauses.rng("programs")
        coverage = frame.coverage(cross(LOADS, WORDS) + cross(LOADS, WAYS))
        for _ in range(CASES):
            for tiling in tilings(CONFIG.array):
                program = random_program(CONFIG, tiling, LENGTH, rng)
                for loads, *others in bins_of(program):
                    for other in others:
                        coverage.hit(loads, other)
                await player.play([Segment(commands=model.commands(tiling, program))])
                await compare(frame, player, model, CHECKED)


@covers("tensor_engine.load_alone", "The lower rows read their operands many cycles after the first one")
@cocotb.test(**LIMIT)
async def new_words_behind_a_load(dut):
    """When `busy` falls, a load has read all its operands, even if no pass uses it yet."""
    async with bench(dut, SIGNATURE, patience=ENGINE_PATIENCE_CYCLES) as frame:
        player, model = await begin(frame, CONFIG, CHECKED)
        load = Load(group=0, address=0, format=ElementFormat.E4M3FN)
        one = Pass(
            group=0,
            address=CONFIG.array.cols,
            format=ElementFormat.E4M3FN,
            count=1,
            chain_in=False,
            chain_out=False,
            bank=0,
            index=0,
            flag=AccumulateFlag.FIRST_OVERWRITE,
        )
        first, second = model.commands(Tiling.FULL, [load, one])
        player.send(Segment(commands=[first]))
        await player.settle(lambda: not player.waiting_commands and not resolved(dut.busy))
        writes = PassModel(CONFIG, source_of("new words")).writes()[: CONFIG.array.cols]
        await player.play([Segment(writes=writes, commands=[second])])
        await compare(frame, player, model, CHECKED)
