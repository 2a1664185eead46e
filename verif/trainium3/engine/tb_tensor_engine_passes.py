"""Bench of the tensor engine: short programs of loads and passes in any order, PSUM word for PSUM word with golden.

``BITPATH_CASES`` are programs of each tiling.
"""

from bitpath.golden.trainium3.declarations.quad_mx import AccumulateFlag
from bitpath.rtl.trainium3.array.systolic_array import Tiling, tilings
from bitpath.rtl.trainium3.dot.element_map import ElementFormat
from bitpath.rtl.trainium3.engine.instruction import EngineConfig
from bitpath.rtl.trainium3.engine.tensor_engine import TensorEngine
from bitpath.verif.kit.engine_host import source_of
from bitpath.verif.kit.player import Segment
from bitpath.verif.kit.unit_bench import ENGINE_PATIENCE_CYCLES, UnitBench, cases, cross, pauses, resolved
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

CASES = cases(24)
BENCH = UnitBench(TensorEngine, EngineConfig, ms=1 + CASES / 10, patience=ENGINE_PATIENCE_CYCLES)
CONFIG = BENCH.config
LENGTH = 100
"""Instructions of a random program."""
CHECKED = PLACES + 2
"""Places of a bank that are read: behind those that programs use nothing may be written."""
"""Three times what so many programs take, and the start."""


@BENCH.test(
    "tensor_engine.passes",
    "A pass could start with the operands that its own load was about to replace",
    gap=[0.0, 0.6],
)
async def single_passes(frame, gap):
    """Programs of loads, used by none, one or several passes, and of passes of one word and more, chained or not, in
    all tiles, at every pace."""
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


@BENCH.test("tensor_engine.load_alone", "The lower rows read their operands many cycles after the first one")
async def new_words_behind_a_load(frame):
    """When `busy` falls, a load has read all its operands, even if no pass uses it yet."""
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
    await player.settle(lambda: not player.waiting_commands and not resolved(frame.dut.busy))
    writes = PassModel(CONFIG, source_of("new words")).writes()[: CONFIG.array.cols]
    await player.play([Segment(writes=writes, commands=[second])])
    await compare(frame, player, model, CHECKED)
