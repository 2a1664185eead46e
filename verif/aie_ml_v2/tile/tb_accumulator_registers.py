"""Bench of the accumulators: every name in both directions, forwarding, several writers, resets.

Golden's declaration of the names gives each register's slots. ``BITPATH_CASES`` sets the cycles of a random test.
"""

import os

import cocotb

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
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.testplan import covers

CONFIG = config_from_environment(AccumulatorRegistersConfig)
SIGNATURE = AccumulatorRegisters(CONFIG).signature
CASES = int(os.environ.get("BITPATH_CASES", "400"))
LIMIT = {"timeout_time": 10, "timeout_unit": "ms"}


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


@covers("accumulator_registers.names", "A write to a part changes exactly that part of the wider names")
@cocotb.test(**LIMIT)
async def every_name(dut):
    """Every name written by every port, and names that share its slots read by every port."""
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await slot_bench.every_name(frame, UNIT)


@covers(
    "accumulator_registers.forwarding",
    "Only some results reach some operands a cycle early; the others find the old value",
)
@cocotb.test(**LIMIT)
async def forwarding(dut):
    """Reads of written slots in the cycle of the write, with every pair of codes."""
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await slot_bench.forwarding(frame, UNIT, CASES)


@covers("accumulator_registers.writers", "Loads and results meet in a cycle")
@cocotb.test(**LIMIT)
async def several_writers(dut):
    """All ports write in a cycle, also parts of one register."""
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await slot_bench.several_writers(frame, UNIT, CASES)


@covers("accumulator_registers.reset", "Golden's registers are")
@cocotb.test(**LIMIT)
async def resets(dut):
    """Every register is 0 after a reset."""
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await slot_bench.resets(frame, UNIT)
