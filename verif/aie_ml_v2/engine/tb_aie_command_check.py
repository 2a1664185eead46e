"""Bench of the engine's command check: every code of mode and formats, every end of a store, and random commands.

``BITPATH_CASES`` sets the random commands.
"""

import os

import cocotb
from cocotb.triggers import Timer

from bitpath.rtl.aie_ml_v2.engine.command import AieEngineConfig, CommandCheck, command_layout
from bitpath.rtl.aie_ml_v2.faults import Fault
from bitpath.verif.aie_ml_v2.engine.session import every_code, every_end, fault_of, random_fields
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.streams import resolved
from bitpath.verif.kit.testplan import covers

CONFIG = config_from_environment(AieEngineConfig)
SIGNATURE = CommandCheck(CONFIG).signature
LAYOUT = command_layout(CONFIG)
CASES = int(os.environ.get("BITPATH_CASES", "100"))
LIMIT = {"timeout_time": 10, "timeout_unit": "ms"}
FAULTS = (Fault.NONE, Fault.OPERATION, Fault.FORMAT, Fault.RANGE)
WALKS = {
    "every_code": (every_code, FAULTS),
    "every_end": (every_end, (Fault.NONE, Fault.RANGE)),
    "random": (lambda config, rng: (random_fields(config, rng) for _ in range(CASES)), FAULTS),
}
"""Commands of each walk, and the faults among them."""


@covers(
    "aie_command_check.faults",
    "A command without a mode or a format computes nothing that any document defines, and a store that wraps "
    "overwrites results",
)
@cocotb.test(**LIMIT)
@cocotb.parametrize(walk=list(WALKS))
async def faults(dut, walk):
    """Every code of the mode with every code of both formats; stores of every number of tiles in every mode around the
    end of the result memory; random commands."""
    commands, found = WALKS[walk]
    async with bench(dut, SIGNATURE) as frame:
        board, coverage = frame.scoreboard("fault", Fault), frame.coverage([fault.name for fault in found])
        for fields in commands(CONFIG, pauses.rng("commands")):
            dut.command.value = pack(LAYOUT, fields)
            await Timer(1, unit="ns")
            right = fault_of(CONFIG, fields)
            coverage.hit(right.name)
            board.expect(right.value, str(fields))
            board.got(resolved(dut.fault))
