"""Bench of the quad-MX PE: loads behind a running multiplication, swaps that travel, stalls at any time.

A program gives every cycle's inputs; what the PE must show after each of them comes from golden before anything is
driven.
"""

from dataclasses import replace
from random import Random

from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.trainium3.dot.pe import QuadMxPe
from bitpath.verif.common.dot.cases import RANDOM_CLASSES, DotCase, comparable_case
from bitpath.verif.kit.unit_bench import Context, UnitBench, cases, covers, pack, pauses
from bitpath.verif.trainium3.dot.pe_player import STALLS, PePlayer, loads_and_swaps, tiles

BENCH = UnitBench(QuadMxPe, DotConfig, ms=100)
CONFIG = BENCH.config
NUMERICS = CONFIG.numerics
PE = BENCH.unit
CASES = cases(500)


def side(case: DotCase, name: str) -> int:
    """One side of a case as the port's integer."""
    return pack(PE.operand, case.operands(NUMERICS)[name])


def step(held: DotCase, work: DotCase) -> tuple[int, Context]:
    """One dot step with the stationary side of ``held`` and the rest of ``work``."""
    stationary = {name: getattr(held, name) for name in ("stationary", "stationary_format", "stationary_scale")}
    case = replace(work, **stationary)
    return case.trace(NUMERICS).result, lambda _: case.shown(NUMERICS)


def any_operands(rng: Random) -> DotCase:
    """A case of a random class; half of them have results that depend on every bit."""
    maker = comparable_case if rng.getrandbits(1) else rng.choice(list(RANDOM_CLASSES.values()))
    return maker(NUMERICS, rng)


PLAYER = PePlayer(PE, CONFIG.pipeline.stages, side, step)


@covers(
    "quad_mx_pe.tiles",
    "The second copy exists for loading in the background",
    "Tiles back to back: each loads during the previous multiplication and is swapped in with its last word",
)
@covers(
    "quad_mx_pe.pass",
    "The array's skew relies on it",
    "Stationary and moving operands and swap leave east after one cycle, partial sums south after stages + 1",
)
@BENCH.test(
    "quad_mx_pe.advance",
    "A stall holds the whole array",
    "Without advance every output holds, whatever the inputs do",
    stall=list(STALLS),
)
async def tiles_back_to_back(frame, stall):
    await PLAYER.play(frame, tiles(pauses.rng("program"), CASES, 12, any_operands), STALLS[stall]())


@covers("quad_mx_pe.swap", "The swap travels a register behind the load: off by one is off by a tile")
@covers("quad_mx_pe.pass")
@BENCH.test("quad_mx_pe.advance", stall=list(STALLS))
async def loads_and_swaps_at_random(frame, stall):
    """Loads and swaps in any order and together; a swap takes the word loaded with it and counts from the next moving
    word."""
    await PLAYER.play(frame, loads_and_swaps(pauses.rng("program"), CASES, any_operands), STALLS[stall]())


@BENCH.test("quad_mx_pe.reset", "A swap that survives the reset would change the next tile's operands")
async def resets(frame):
    """A reset during a swap ends the swap."""
    await PLAYER.resets(frame, any_operands(pauses.rng("case")))
