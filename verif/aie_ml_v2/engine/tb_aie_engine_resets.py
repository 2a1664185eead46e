"""Reset bench of the engine: short programs interrupted by resets, each followed by a complete one.

``BITPATH_CASES`` are programs broken off at each pace.
"""

from collections.abc import Iterator
from itertools import islice

from bitpath.rtl.aie_ml_v2.engine.aie_engine import AieEngine
from bitpath.rtl.aie_ml_v2.engine.command import AieEngineConfig
from bitpath.verif.aie_ml_v2.engine.model import RowCommand
from bitpath.verif.aie_ml_v2.engine.session import Session, program
from bitpath.verif.kit.engine_host import reset_amid, source_of
from bitpath.verif.kit.unit_bench import ENGINE_PATIENCE_CYCLES, UnitBench, cases, pauses

BENCH = UnitBench(AieEngine, AieEngineConfig, ms=100, patience=ENGINE_PATIENCE_CYCLES)
CONFIG = BENCH.config
CASES = cases(8)
LENGTH = 8
"""Commands of the longest program."""


@BENCH.test("resets.programs_broken_off", pause=[0.0, 0.5])
async def programs_broken_off(frame, pause):
    source, rng = source_of("operands"), pauses.rng("program")

    def short(_: bool) -> Iterator[RowCommand]:
        return (each for _, each in islice(program(CONFIG, source, rng), rng.randint(1, LENGTH)))

    session = await Session.begin(frame, CONFIG, gap=pause, stall=pause)
    await reset_amid(frame, session, rng, CASES, short)
