"""Bench of the accumulators: every name in both directions, forwarding, several writers, resets.

Golden's declaration of the names gives each register's slots.
"""

from bitpath.golden.aie_ml_v2.declarations.tile import ACCUMULATORS
from bitpath.rtl.aie_ml_v2.tile.registers import (
    ACCUMULATOR_PATHS,
    ACCUMULATOR_READERS,
    ACCUMULATOR_WRITERS,
    AccumulatorRegisters,
    AccumulatorRegistersConfig,
    accumulator_write,
)
from bitpath.rtl.aie_ml_v2.tile.slot_file import name_layout
from bitpath.verif.aie_ml_v2.tile import slot_bench
from bitpath.verif.aie_ml_v2.tile.slot_bench import Place, Written, places
from bitpath.verif.kit.unit_bench import UnitBench, cases, pack

BENCH = UnitBench(AccumulatorRegisters, AccumulatorRegistersConfig)
CONFIG = BENCH.config
CASES = cases(400)


def name_payload(place: Place, forward: int) -> int:
    return pack(name_layout(CONFIG.accumulators), {"index": place.index, "size": place.size, "forward": forward})


def write_payload(write: Written) -> int:
    fields = {"name": name_payload(write.place, write.forward), "data": write.bits["dm"]}
    return pack(accumulator_write(CONFIG), fields)


UNIT = slot_bench.Registers(
    readers=ACCUMULATOR_READERS,
    writers=ACCUMULATOR_WRITERS,
    paths=ACCUMULATOR_PATHS,
    names=places(ACCUMULATORS, {"dm": 512}, CONFIG.accumulators),
    widths={"dm": CONFIG.bm_bits},
    count=CONFIG.accumulators,
    lowest={"dm": 0},
    write_payload=write_payload,
    name_payload=name_payload,
)


@BENCH.test("accumulator_registers.names", "A write to a part changes exactly that part of the wider names")
async def every_name(frame):
    """Every name written by every port, and names that share its slots read by every port."""
    await slot_bench.every_name(frame, UNIT)


@BENCH.test(
    "accumulator_registers.forwarding",
    "Only some results reach some operands a cycle early; the others find the old value",
)
async def forwarding(frame):
    """Reads of written slots in the cycle of the write, with every pair of codes."""
    await slot_bench.forwarding(frame, UNIT, CASES)


@BENCH.test("accumulator_registers.writers", "Loads and results meet in a cycle")
async def several_writers(frame):
    """All ports write in a cycle, also parts of one register."""
    await slot_bench.several_writers(frame, UNIT, CASES)


@BENCH.test("accumulator_registers.reset", "Golden's registers are")
async def resets(frame):
    """Every register is 0 after a reset."""
    await slot_bench.resets(frame, UNIT)
