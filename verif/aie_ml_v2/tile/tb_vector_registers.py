"""Bench of the vector registers: every name in both directions, forwarding, several writers, resets.

Golden's declaration of the names gives each register's slots. ``BITPATH_CASES`` sets the cycles of a random test.
"""

import os

import cocotb

from bitpath.golden.aie_ml_v2.declarations.tile import VECTOR
from bitpath.rtl.aie_ml_v2.tile.registers import (
    VECTOR_PATHS,
    VECTOR_READERS,
    VECTOR_WRITERS,
    VectorRegisters,
    VectorRegistersConfig,
    vector_layout,
    vector_write,
)
from bitpath.rtl.aie_ml_v2.tile.slot_file import name_layout
from bitpath.verif.aie_ml_v2.tile import slot_bench
from bitpath.verif.aie_ml_v2.tile.slot_bench import Place, Written, places
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.testplan import covers

CONFIG = config_from_environment(VectorRegistersConfig)
SIGNATURE = VectorRegisters(CONFIG).signature
CASES = int(os.environ.get("BITPATH_CASES", "400"))
LIMIT = {"timeout_time": 10, "timeout_unit": "ms"}
PARTS = {"x": "w", "f": "f", "g": "g", "e": "e"}
"""Parts of the RTL by golden's storages."""
LAYOUT = vector_layout(CONFIG)
WIDTHS = {storage: LAYOUT[part].width // 4 for storage, part in PARTS.items()}


def name_payload(place: Place, forward: int) -> int:
    return pack(name_layout(CONFIG.pairs), {"index": place.index, "size": place.size, "forward": forward})


def write_payload(write: Written) -> int:
    bits = sum(value << LAYOUT[PARTS[storage]].offset for storage, value in write.bits.items())
    layout = vector_write(CONFIG)
    fields = {
        "name": name_payload(write.place, write.forward),
        "parts": {part: int(storage in write.bits) for storage, part in PARTS.items()},
        "data": bits,
    }
    return pack(layout, fields)


UNIT = slot_bench.Registers(
    readers=VECTOR_READERS,
    writers=VECTOR_WRITERS,
    paths=VECTOR_PATHS,
    names=places(VECTOR, {"x": 256, "f": 64, "g": 32, "e": 32}, CONFIG.pairs),
    widths=WIDTHS,
    count=CONFIG.pairs,
    lowest={storage: LAYOUT[part].offset for storage, part in PARTS.items()},
    write_payload=write_payload,
    name_payload=name_payload,
)


@covers("vector_registers.names", "A write to a part changes exactly that part of the wider names")
@cocotb.test(**LIMIT)
async def every_name(dut):
    """Every name written by every port, and names that share its slots read by every port."""
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await slot_bench.every_name(frame, UNIT)


@covers(
    "vector_registers.forwarding",
    "Only some results reach some operands a cycle early; the others find the old value",
)
@cocotb.test(**LIMIT)
async def forwarding(dut):
    """Reads of written slots in the cycle of the write, with every pair of codes."""
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await slot_bench.forwarding(frame, UNIT, CASES)


@covers("vector_registers.writers", "Loads and results meet in a cycle")
@cocotb.test(**LIMIT)
async def several_writers(dut):
    """All ports write in a cycle, also parts of one register."""
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await slot_bench.several_writers(frame, UNIT, CASES)


@covers("vector_registers.reset", "Golden's registers are")
@cocotb.test(**LIMIT)
async def resets(dut):
    """Every register is 0 after a reset."""
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await slot_bench.resets(frame, UNIT)
