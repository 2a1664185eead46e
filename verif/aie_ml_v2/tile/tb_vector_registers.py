"""Bench of the vector registers: every name in both directions, forwarding, several writers, resets.

Golden's declaration of the names gives each register's slots.
"""

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
from bitpath.verif.kit.unit_bench import UnitBench, cases, pack

BENCH = UnitBench(VectorRegisters, VectorRegistersConfig)
CONFIG = BENCH.config
CASES = cases(400)
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


@BENCH.test("vector_registers.names", "A write to a part changes exactly that part of the wider names")
async def every_name(frame):
    """Every name written by every port, and names that share its slots read by every port."""
    await slot_bench.every_name(frame, UNIT)


@BENCH.test(
    "vector_registers.forwarding", "Only some results reach some operands a cycle early; the others find the old value"
)
async def forwarding(frame):
    """Reads of written slots in the cycle of the write, with every pair of codes."""
    await slot_bench.forwarding(frame, UNIT, CASES)


@BENCH.test("vector_registers.writers", "Loads and results meet in a cycle")
async def several_writers(frame):
    """All ports write in a cycle, also parts of one register."""
    await slot_bench.several_writers(frame, UNIT, CASES)


@BENCH.test("vector_registers.reset", "Golden's registers are")
async def resets(frame):
    """Every register is 0 after a reset."""
    await slot_bench.resets(frame, UNIT)
