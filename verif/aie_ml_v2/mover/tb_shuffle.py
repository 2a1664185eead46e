"""Bench of the shuffle unit: routes of every code, unknown codes, random registers at any pace, latency, resets.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random requests of a test, and
four times as many of the 11,136 one-hot ones.
"""

import os

import cocotb
import numpy as np

from bitpath.golden.aie_ml_v2.declarations.mover import SHUFFLE_CODES
from bitpath.rtl.aie_ml_v2.mover.layouts import ShuffleConfig
from bitpath.rtl.aie_ml_v2.mover.shuffle import Shuffle
from bitpath.verif.aie_ml_v2.mover import benches
from bitpath.verif.aie_ml_v2.mover.shuffle import BINS, BYTES, numbered, one_hot, random_registers, shuffle_requests
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.pipeline import PACES
from bitpath.verif.kit.testplan import covers

UNIT = Shuffle(config_from_environment(ShuffleConfig))
CASES = int(os.environ.get("BITPATH_CASES", "200"))
CODES = list(SHUFFLE_CODES)


@covers("shuffle.routes", "A route is proved when each byte arrives once and nowhere else")
@cocotb.test(**benches.LIMIT)
async def routes(dut):
    """Every code on bytes that are all different and on their complements; one byte of ones in each place of X, E, G
    and F of both registers."""
    await benches.sweep(dut, UNIT, [each for code in CODES for each in shuffle_requests(code, *numbered())])


@covers("shuffle.routes")
@cocotb.test(**benches.LIMIT)
async def one_hot_bytes(dut):
    """Every code on registers with one byte of ones: each byte of X, E, G and F arrives once, and nowhere else."""
    rng = pauses.rng("requests")
    requests = [each for code in CODES for each in shuffle_requests(code, *one_hot())]
    await benches.sweep(dut, UNIT, rng.sample(requests, min(len(requests), 4 * CASES)))


@covers("shuffle.unknown", "A part of the code alone must not choose a mode")
@cocotb.test(**benches.LIMIT)
async def unknown_codes(dut):
    """The 70 codes without a mode give zeros."""
    rng = pauses.rng("requests")
    nothing = np.zeros((1, BYTES), np.uint8)
    codes = sorted(set(range(128)) - set(CODES))
    requests = [each for code in codes for each in shuffle_requests(code, *random_registers(rng), nothing)]
    await benches.sweep(dut, UNIT, requests)


@covers("shuffle.stream", "Each request carries its own code")
@cocotb.test(**benches.LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def random_requests(dut, pace):
    """Any registers, every code in any order, full speed, gaps, stalls and both; latency; resets."""
    rng = pauses.rng("requests")
    order = [*CODES, *rng.choices(CODES, k=max(0, CASES - len(CODES)))]
    rng.shuffle(order)
    requests = [each for code in order for each in shuffle_requests(code, *random_registers(rng))]
    await benches.exchange(dut, UNIT, requests, pace, BINS, (SHUFFLE_CODES[code].name for code in order))


@covers("shuffle.stream")
@cocotb.test(**benches.LIMIT)
async def latency(dut):
    rng = pauses.rng("requests")
    requests = [each for code in rng.sample(CODES, 20) for each in shuffle_requests(code, *random_registers(rng))]
    await benches.one_at_a_time(dut, UNIT, requests)


@covers("shuffle.stream")
@cocotb.test(**benches.LIMIT)
async def resets(dut):
    """Resets with requests in flight."""
    rng = pauses.rng("requests")
    await benches.resets(dut, UNIT, lambda: shuffle_requests(rng.choice(CODES), *random_registers(rng)))
