"""Parts of the bench: rows written around an instruction, chains of GMPOOLs, every exponent, and banks that are released."""

from copy import deepcopy
from dataclasses import replace
from itertools import product
from random import Random

import numpy as np

from bitpath.golden.formats.catalogue import TF32
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, SRC_ROWS, Style
from bitpath.rtl.tensix.matrix.instruction import Opcode, Zeroed
from bitpath.verif.kit.bench import Bench
from bitpath.verif.kit.coverage import Coverage, cross
from bitpath.verif.tensix.dot.sources import dst_row, source_rows
from bitpath.verif.tensix.matrix.hazards import mvmul
from bitpath.verif.tensix.matrix.kinds import (
    CONFIG,
    LATENCY,
    NUMERICS,
    combinations,
    fill_both,
    fill_dst,
    kind_bin,
    place_kind,
    read_pairs,
)
from bitpath.verif.tensix.matrix.model import Operation, Place
from bitpath.verif.tensix.matrix.player import Player

CHAIN = 4
"""GMPOOLs onto one Dst row."""


async def written_around(
    player: Player, operation: Operation, place: Place, values: np.ndarray, offset: int, coverage: Coverage
) -> None:
    """Offer a row ``offset - 1`` cycles after an instruction on its block: it takes effect either before or after it."""
    before, behind = deepcopy(player.machine), deepcopy(player.machine)
    before.write(place, values)
    before.execute(operation)
    behind.execute(operation)
    behind.write(place, values)
    await player.cycles(LATENCY + 1)
    if offset == 0:
        player.send_write(place, values)
        await player.cycles(1)
    player.send_instruction(operation)
    if offset > 0:
        await player.cycles(offset - 1)
        player.send_write(place, values)
    await player.idle()
    last, written = player.taken["instruction"][-1], player.taken["write_dst"][-1]
    first = last - CONFIG.passes + 1
    if offset == 0:
        assert written < first
    else:
        assert written == max(last + LATENCY, first + offset - 1), f"last pass in {last}, written in {written}"
    coverage.hit("written before" if written < first else "written behind")
    player.machine = before if written < first else behind
    for each in place.block:
        player.read(each)
    await player.idle()


async def pooled(frame: Bench, rng: Random, style: Style) -> None:
    """Make two blocks undefined, write some rows of one, then pool onto it four times, in every kind of GMPOOL."""
    kinds = [kind for kind in combinations(style) if kind["opcode"] is Opcode.GMPOOL]
    coverage = frame.coverage(cross([kind_bin(style, kind) for kind in kinds], ("undefined", "defined")))
    player = Player(frame, NUMERICS)
    fill_both(player, rng, style)
    fill_dst(player, rng, (1,))
    await player.idle()
    for kind, count in product(kinds, (0, 1, BLOCK_ROWS // 2, BLOCK_ROWS)):
        first = place_kind(rng, style, kind, 1)
        player.issue(Operation(opcode=Opcode.ZEROACC, dst32=first.dst32, dst_row=first.dst_row))
        await player.idle()
        for place in rng.sample(first.place.block, count):
            player.write(place, dst_row(rng, style, dst32=place.dst32))
        await player.idle()
        coverage.hit(kind_bin(style, kind), "undefined" if player.machine.undefined(first.place) else "defined")
        for b_row in rng.sample(range(0, SRC_ROWS, BLOCK_ROWS), CHAIN):
            player.issue(replace(first, src_b_row=b_row))
        read_pairs(player, rng, (1,))
        await player.idle()


async def scaled(frame: Bench, side: str) -> None:
    """Multiply every exponent in one source by 1.0 in the other one, from an undefined Dst."""
    exponents = {each: np.full((SRC_ROWS, COLUMNS), TF32.bias, np.uint32) for each in "ab"}
    exponents[side] = np.arange(SRC_ROWS * COLUMNS, dtype=np.uint32).reshape(SRC_ROWS, COLUMNS) % (
        1 << TF32.exponent_bits
    )
    player = Player(frame, NUMERICS)
    for each, rows in exponents.items():
        player.fill(each, dict(enumerate(rows << TF32.fraction_bits)))
    player.issue(Operation(opcode=Opcode.ZEROACC, zeroed=Zeroed.ALL))
    for row in range(0, SRC_ROWS, BLOCK_ROWS):
        player.issue(Operation(opcode=Opcode.ELWMUL, dst32=True, src_a_row=row, src_b_row=row, dst_row=row))
    await player.idle()
    for row in range(SRC_ROWS):
        player.read(Place(row, True, False))
    await player.idle()


def fill_released(player: Player, rng: Random, operation: Operation) -> None:
    """Fill the banks that an instruction releases."""
    for side in "ab":
        if getattr(operation, f"release_{side}"):
            player.fill(side, dict(enumerate(source_rows(rng, Style.BF16))))


def release_waited_for(player: Player, rng: Random) -> None:
    """Issue an instruction that releases each bank for which a fill of the other one waits."""
    waits = {f"release_{side}": banks.waits for side, banks in player.machine.sources.items()}
    operation = replace(mvmul(0), **waits)
    player.issue(operation)
    fill_released(player, rng, operation)
