"""Bench of the engine's command check: every code of mode and formats, every end of a store, and random commands."""

from cocotb.triggers import Timer

from bitpath.rtl.aie_ml_v2.engine.command import AieEngineConfig, CommandCheck, command_layout
from bitpath.rtl.aie_ml_v2.faults import Fault
from bitpath.verif.aie_ml_v2.engine.session import every_code, every_end, fault_of, random_fields
from bitpath.verif.kit.unit_bench import UnitBench, cases, pack, pauses, resolved

BENCH = UnitBench(CommandCheck, AieEngineConfig)
CONFIG = BENCH.config
LAYOUT = command_layout(CONFIG)
CASES = cases(100)
FAULTS = (Fault.NONE, Fault.OPERATION, Fault.FORMAT, Fault.RANGE)
WALKS = {
    "every_code": (every_code, FAULTS),
    "every_end": (every_end, (Fault.NONE, Fault.RANGE)),
    "random": (lambda config, rng: (random_fields(config, rng) for _ in range(CASES)), FAULTS),
}
"""Commands of each walk, and the faults among them."""


@BENCH.test(
    "aie_command_check.faults",
    "A command without a mode or a format computes nothing that any document defines, and a store that wraps "
    "overwrites results",
    walk=list(WALKS),
)
async def faults(frame, walk):
    """Every code of the mode with every code of both formats; stores of every number of tiles in every mode around the
    end of the result memory; random commands."""
    commands, found = WALKS[walk]
    board, coverage = frame.scoreboard("fault", Fault), frame.coverage([fault.name for fault in found])
    for fields in commands(CONFIG, pauses.rng("commands")):
        frame.dut.command.value = pack(LAYOUT, fields)
        await Timer(1, unit="ns")
        right = fault_of(CONFIG, fields)
        coverage.hit(right.name)
        board.compare(resolved(frame.dut.fault), right.value, str(fields))
