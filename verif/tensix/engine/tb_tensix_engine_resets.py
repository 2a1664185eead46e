"""Bench of the Tensix engine: random short programs that resets interrupt, and programs after the reset.

``BITPATH_CASES`` is the number of interrupted programs at each pace.
"""

import os
from collections.abc import Iterator
from dataclasses import replace

import cocotb

from bitpath.golden.tensix.declarations.formats import Fidelity
from bitpath.rtl.tensix.engine.command import TensixEngineConfig
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.engine_host import reset_amid, source_of
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tensix.engine.model import Product
from bitpath.verif.tensix.engine.programs import program
from bitpath.verif.tensix.engine.session import engine

CONFIG = config_from_environment(TensixEngineConfig)
CASES = int(os.environ.get("BITPATH_CASES", "8"))
LENGTH = 5
"""Number of products in the longest program."""
LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}


@covers("resets.programs_broken_off")
@cocotb.test(**LIMIT)
@cocotb.parametrize(pause=[0.0, 0.5])
async def programs_broken_off(dut, pause):
    source, rng = source_of("operands"), pauses.rng("program")

    def short(behind_reset: bool) -> Iterator[Product]:
        length = rng.randint(1, LENGTH)
        for index, (_, _, each) in enumerate(program(CONFIG, source, rng)[:length]):
            # The first product after a reset accumulates onto its Dst; the last one keeps no tiles.
            fields = {"clear": False} if behind_reset and index == 0 else {}
            fields |= {"keep_left": False, "keep_right": False} if index == length - 1 else {}
            yield replace(each, fidelity=rng.choice(list(Fidelity)), **fields)

    async with engine(dut, CONFIG, gap=pause, stall=pause) as (frame, session):
        await reset_amid(frame, session, rng, CASES, short)
