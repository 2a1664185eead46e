"""Reset bench of the engine: short programs interrupted by resets, each followed by a complete one.

``BITPATH_CASES`` are programs broken off at each pace.
"""

import os
from collections.abc import Iterator
from itertools import islice

import cocotb

from bitpath.rtl.aie_ml_v2.engine.command import AieEngineConfig
from bitpath.verif.aie_ml_v2.engine.model import RowCommand
from bitpath.verif.aie_ml_v2.engine.session import engine, program
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.engine_host import reset_amid, source_of
from bitpath.verif.kit.testplan import covers

CONFIG = config_from_environment(AieEngineConfig)
CASES = int(os.environ.get("BITPATH_CASES", "8"))
LENGTH = 8
"""Commands of the longest program."""
LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}


@covers("resets.programs_broken_off")
@cocotb.test(**LIMIT)
@cocotb.parametrize(pause=[0.0, 0.5])
async def programs_broken_off(dut, pause):
    source, rng = source_of("operands"), pauses.rng("program")

    def short(_: bool) -> Iterator[RowCommand]:
        return (each for _, each in islice(program(CONFIG, source, rng), rng.randint(1, LENGTH)))

    async with engine(dut, CONFIG, gap=pause, stall=pause) as (frame, session):
        await reset_amid(frame, session, rng, CASES, short)
