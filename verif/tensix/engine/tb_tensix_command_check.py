"""Bench of the engine's command check: every code of loads, styles and stores, every end of a tile, and every move of the banks.

``BITPATH_CASES`` is how many of 1000 commands of a walk of codes are taken, at random; all at 1000 and more.
"""

import os
from itertools import product

from cocotb.triggers import Timer

from bitpath.rtl.tensix.engine.command import BANK_STATE, CommandCheck, TensixEngineConfig, command_layout
from bitpath.rtl.tensix.faults import Fault
from bitpath.verif.kit.unit_bench import UnitBench, pack, pauses, resolved
from bitpath.verif.tensix.engine.model import SIDES, Source
from bitpath.verif.tensix.engine.session import (
    REGISTERS,
    every_end,
    every_load,
    every_number,
    every_store,
    every_style,
    fault_of,
    random_fields,
)

BENCH = UnitBench(CommandCheck, TensixEngineConfig)
CONFIG = BENCH.config
LAYOUT = command_layout(CONFIG)
SHARE = int(os.environ.get("BITPATH_CASES", "1000")) / 1000
FORMATS = (Fault.NONE, Fault.FORMAT)
WALKS = {
    "every_load": (every_load, FORMATS),
    "every_style": (every_style, FORMATS),
    "every_store": (every_store, FORMATS),
    "every_number": (every_number, FORMATS),
    "every_end": (every_end, (Fault.NONE, Fault.RANGE)),
}
"""Commands of each walk, and the faults among them."""
MOVES = 4
"""Products in a row of every move of the banks."""


class Table:
    """The check beside golden's rule."""

    def __init__(self, dut, frame):
        self.dut, self.board = dut, frame.scoreboard("fault", Fault)

    async def check(self, fields, sources) -> Fault:
        """Compare the fault of a command, given the tiles in the sources; return golden's."""
        self.dut.command.value = pack(LAYOUT, fields)
        for side in SIDES:
            getattr(self.dut, side).value = pack(BANK_STATE, sources[side].state)
        await Timer(1, unit="ns")
        right = fault_of(CONFIG, fields, sources)
        self.board.compare(resolved(self.dut.fault), right.value, str(fields))
        return right


def handed_over(fields):
    """Return a command that gives both tiles back, so that any may follow."""
    return fields | dict.fromkeys(("release_a", "release_b", "flip_a", "flip_b"), 1)


def behind(*moves, load=False):
    """Return sources behind products with these moves on both sides; the bank that they read holds a tile, or the next load brings it."""
    sources = {side: Source() for side in SIDES}
    for source in sources.values():
        for move in moves:
            if source.loads:
                source.load(None)
            source.banks.move(*move)
        if load:
            source.load(None)
    return sources


HANDED_OVER, KEPT = (True, True), (False, True)
LOADING = [behind(), behind(HANDED_OVER), behind(KEPT), behind(HANDED_OVER, KEPT)]
HOLDING = [behind(load=True), behind(HANDED_OVER, load=True), behind(KEPT, load=True)]
"""Sources whose next product loads, and sources whose next product has its tile."""


@BENCH.test(
    "tensix_command_check.codes",
    "Golden converts and multiplies so, or raises: the engine refuses exactly what raises",
    walk=list(WALKS),
)
async def codes(frame, walk):
    """Loads have every pair of codes in memory and register with every flag, on both sides. Products have every style
    with every pair of registers' codes and both widths of Dst. Stores have every pair of the packer's codes, rounded
    and raw, with random flags and numbers, and each of these alone. Tiles of every format lie around the end of their
    memory. Every tile of Dst is used in both widths."""
    commands, found = WALKS[walk]
    table, coverage = Table(frame.dut, frame), frame.coverage([fault.name for fault in found])
    rng = pauses.rng("commands")
    for fields in commands(CONFIG, rng):
        if rng.random() >= SHARE and walk != "every_end":
            continue
        sources = rng.choice(HOLDING if walk == "every_style" else LOADING)
        fault = await table.check(handed_over(fields), sources)
        coverage.hit(fault.name)


@BENCH.test(
    "tensix_command_check.moves",
    "Behind some of them the next product would wait for ever for a tile that no load brings to its bank",
)
async def moves(frame):
    """Every release and flip of either side in four products in a row."""
    rng = pauses.rng("commands")
    table, coverage = Table(frame.dut, frame), frame.coverage(["NONE", "BANK"])
    for side, *path in product(SIDES, *[range(4)] * MOVES):
        sources = {each: Source() for each in SIDES}
        for move in path:
            fields = handed_over(random_fields(CONFIG, rng)) | {"stores": 0}
            fields |= dict(
                zip((f"release_{REGISTERS[side]}", f"flip_{REGISTERS[side]}"), (move & 1, move >> 1), strict=True)
            )
            fault = await table.check(fields, sources)
            coverage.hit(fault.name)
            if fault is not Fault.NONE:
                break
            for each, source in sources.items():
                if source.loads:
                    source.load(None)
                source.banks.move(*((move & 1, move >> 1) if each == side else (True, True)))
