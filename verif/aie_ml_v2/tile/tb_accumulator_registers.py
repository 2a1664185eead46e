"""Bench of the accumulators: every name in both directions, forwarding, several writers, resets.

Golden's declaration of the names gives each register's slots. ``BITPATH_CASES`` sets the cycles of a random test.
"""

import os

import cocotb

from bitpath.golden.aie_ml_v2.declarations.registers import ACCUMULATORS
from bitpath.rtl.aie_ml_v2.tile.accumulator_registers import (
    PATHS,
    READERS,
    WRITERS,
    AccumulatorRegisters,
    accumulator_write,
)
from bitpath.rtl.aie_ml_v2.tile.config import AccumulatorRegistersConfig
from bitpath.rtl.aie_ml_v2.tile.slot_file import name_layout
from bitpath.verif.aie_ml_v2.tile import slot_bench
from bitpath.verif.aie_ml_v2.tile.slot_bench import Place, Written, places
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.packing import pack

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
    readers=READERS,
    writers=WRITERS,
    paths=PATHS,
    names=places(ACCUMULATORS, {"dm": 512}, CONFIG.accumulators),
    widths={"dm": CONFIG.bm_bits},
    count=CONFIG.accumulators,
    lowest={"dm": 0},
    write_payload=write_payload,
    name_payload=name_payload,
)


@cocotb.test(**LIMIT)
async def every_name(dut):
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await slot_bench.every_name(frame, UNIT)


@cocotb.test(**LIMIT)
async def forwarding(dut):
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await slot_bench.forwarding(frame, UNIT, CASES)


@cocotb.test(**LIMIT)
async def several_writers(dut):
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await slot_bench.several_writers(frame, UNIT, CASES)


@cocotb.test(**LIMIT)
async def resets(dut):
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await slot_bench.resets(frame, UNIT)
