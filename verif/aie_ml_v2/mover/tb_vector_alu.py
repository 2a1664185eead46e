"""Bench of the add/compare unit: all pairs of bytes, corners of every lane, random requests, latency, resets.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random requests of a test, and
the requests of each operation in the sweeps over pairs of bytes, which are all pairs where they fit.
"""

import os

import cocotb

from bitpath.golden.aie_ml_v2.declarations.codes import VectorOp
from bitpath.rtl.aie_ml_v2.mover.layouts import VectorAluConfig
from bitpath.rtl.aie_ml_v2.mover.vector_alu import VectorAlu
from bitpath.verif.aie_ml_v2.mover import benches
from bitpath.verif.aie_ml_v2.mover.vector_alu import (
    ASKS,
    BINS,
    SHORT_FLOAT_ASKS,
    AluAsk,
    alu_requests,
    corner_pairs,
    every_pair,
    random_alu,
    sampled,
)
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.pipeline import PACES
from bitpath.verif.kit.testplan import covers

CONFIG = config_from_environment(VectorAluConfig)
SIZE = CONFIG.register_bytes
UNIT = VectorAlu(CONFIG)
CASES = int(os.environ.get("BITPATH_CASES", "200"))


async def _pairs_of_bytes(dut, asks: list[AluAsk]) -> None:
    rng = pauses.rng("pairs")
    requests = []
    for ask in asks:
        requests += alu_requests(ask, *sampled(every_pair(), CASES * SIZE, rng), SIZE, rng)
    await benches.sweep(dut, UNIT, requests)


@covers("vector_alu.bytes", "Wrapping, NaN and zeros of both signs lie among them")
@cocotb.test(**benches.LIMIT)
@cocotb.parametrize(signed=[False, True])
async def pairs_of_8_bit_integers(dut, signed):
    """All pairs of 8-bit integers under every operation, signed and unsigned; all pairs of 8-bit floats in every
    representation under every comparison."""
    await _pairs_of_bytes(dut, [AluAsk(op, 8, signed) for op in VectorOp])


@covers("vector_alu.bytes")
@cocotb.test(**benches.LIMIT)
async def pairs_of_8_bit_floats(dut):
    """In every representation of both, under every comparison."""
    await _pairs_of_bytes(dut, SHORT_FLOAT_ASKS)


@covers("vector_alu.corners", "One adder serves all widths, so a carry must stop at its lane")
@cocotb.test(**benches.LIMIT)
async def pairs_of_corners(dut):
    """All pairs of limits, powers of two and carries of 8, 16 and 32-bit lanes, and of limits of BF16, FP16 and 8-bit
    floats, under every operation."""
    rng = pauses.rng("masks")
    requests = [each for ask in ASKS for each in alu_requests(ask, *corner_pairs(ask), SIZE, rng)]
    await benches.sweep(dut, UNIT, requests)


@covers("vector_alu.stream", "Each request carries its own control, and floats ignore the width and sign of integers")
@cocotb.test(**benches.LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def random_requests(dut, pace):
    """Every operation, width, sign and format in any order, with random masks and random fields that the operation does
    not read; full speed, gaps, stalls and both; latency; resets."""
    rng = pauses.rng("requests")
    order = [*ASKS, *rng.choices(ASKS, k=max(0, CASES - len(ASKS)))]
    rng.shuffle(order)
    requests = [each for ask in order for each in random_alu(ask, SIZE, rng)]
    await benches.exchange(dut, UNIT, requests, pace, BINS, (ask.bin for ask in order))


@covers("vector_alu.stream")
@cocotb.test(**benches.LIMIT)
async def latency(dut):
    rng = pauses.rng("requests")
    requests = [each for ask in rng.sample(ASKS, 20) for each in random_alu(ask, SIZE, rng)]
    await benches.one_at_a_time(dut, UNIT, requests)


@covers("vector_alu.stream")
@cocotb.test(**benches.LIMIT)
async def resets(dut):
    """Resets with requests in flight."""
    rng = pauses.rng("requests")
    await benches.resets(dut, UNIT, lambda: random_alu(rng.choice(ASKS), SIZE, rng))
