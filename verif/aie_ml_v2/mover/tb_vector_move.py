"""Bench of the move unit: every index of every operation and width, single bits, random requests, latency, resets.

Expected values come from golden's exact tier before anything is driven. ``BITPATH_CASES`` sets the random requests of a
test.
"""

import os

import cocotb

from bitpath.rtl.aie_ml_v2.mover.layouts import VectorMoveConfig
from bitpath.rtl.aie_ml_v2.mover.vector_move import VectorMove
from bitpath.verif.aie_ml_v2.mover import benches
from bitpath.verif.aie_ml_v2.mover.vector_move import BINS, KINDS, every_index, random_move, single_bits
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.pipeline import PACES, Request
from bitpath.verif.kit.testplan import covers

CONFIG = config_from_environment(VectorMoveConfig)
SIZE = CONFIG.register_bytes
UNIT = VectorMove(CONFIG)
CASES = int(os.environ.get("BITPATH_CASES", "200"))


def _random(rng, kind=None) -> Request:
    return random_move(rng, SIZE, *(kind or rng.choice(KINDS))).request


@covers("vector_move.indices", "A number of bytes counts modulo two registers, a lane modulo the number of lanes")
@cocotb.test(**benches.LIMIT)
async def indices(dut):
    """Shifts by every number of bytes up to two registers; insert, extract and extract-and-broadcast at every lane of
    every width, and at numbers beyond the last lane."""
    await benches.sweep(dut, UNIT, [each.request for each in every_index(pauses.rng("moves"), SIZE)])


@covers(
    "vector_move.bits",
    "Pushes and broadcasts share the shifter's operands; scalars above a lane's width must not leak",
)
@cocotb.test(**benches.LIMIT)
async def bits(dut):
    """Registers and scalars with one bit set, in every place, through every operation and width."""
    rng = pauses.rng("moves")
    moves = single_bits(rng, SIZE)
    await benches.sweep(dut, UNIT, [each.request for each in rng.sample(moves, min(len(moves), 10 * CASES))])


@covers("vector_move.stream", "Each request carries its own control")
@cocotb.test(**benches.LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def random_requests(dut, pace):
    """Every operation, width and sign in any order, full speed, gaps, stalls and both; latency; resets."""
    rng = pauses.rng("moves")
    moves = [random_move(rng, SIZE, *kind, signed=signed) for kind in KINDS for signed in (False, True)]
    moves += [random_move(rng, SIZE, *rng.choice(KINDS)) for _ in range(max(0, CASES - len(moves)))]
    rng.shuffle(moves)
    await benches.exchange(dut, UNIT, [each.request for each in moves], pace, BINS, (each.bin for each in moves))


@covers("vector_move.stream")
@cocotb.test(**benches.LIMIT)
async def latency(dut):
    rng = pauses.rng("moves")
    await benches.one_at_a_time(dut, UNIT, [_random(rng) for _ in range(20)])


@covers("vector_move.stream")
@cocotb.test(**benches.LIMIT)
async def resets(dut):
    """Resets with requests in flight."""
    rng = pauses.rng("moves")
    await benches.resets(dut, UNIT, lambda: [_random(rng)])
