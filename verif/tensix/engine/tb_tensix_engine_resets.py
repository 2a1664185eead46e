"""Bench of the Tensix engine: random short programs that resets interrupt, and programs after the reset.

``BITPATH_CASES`` is the number of interrupted programs at each pace.
"""

from collections.abc import Iterator
from dataclasses import replace

from bitpath.golden.tensix.declarations.formats import Fidelity
from bitpath.rtl.tensix.engine.command import TensixEngineConfig
from bitpath.rtl.tensix.engine.tensix_engine import TensixEngine
from bitpath.verif.kit.engine_host import reset_amid, source_of
from bitpath.verif.kit.unit_bench import ENGINE_PATIENCE_CYCLES, UnitBench, cases, pauses
from bitpath.verif.tensix.engine.model import Product
from bitpath.verif.tensix.engine.programs import program
from bitpath.verif.tensix.engine.session import Session

BENCH = UnitBench(TensixEngine, TensixEngineConfig, ms=100, patience=ENGINE_PATIENCE_CYCLES)
CONFIG = BENCH.config
CASES = cases(8)
LENGTH = 5
"""Number of products in the longest program."""


@BENCH.test("resets.programs_broken_off", pause=[0.0, 0.5])
async def programs_broken_off(frame, pause):
    source, rng = source_of("operands"), pauses.rng("program")

    def short(behind_reset: bool) -> Iterator[Product]:
        length = rng.randint(1, LENGTH)
        for index, (_, _, each) in enumerate(program(CONFIG, source, rng)[:length]):
            # The first product after a reset accumulates onto its Dst; the last one keeps no tiles.
            fields = {"clear": False} if behind_reset and index == 0 else {}
            fields |= {"keep_left": False, "keep_right": False} if index == length - 1 else {}
            yield replace(each, fidelity=rng.choice(list(Fidelity)), **fields)

    session = await Session.begin(frame, CONFIG, gap=pause, stall=pause)
    await reset_amid(frame, session, rng, CASES, short)
