"""Bench of exp2 and tanh: BF16 inputs, fractions, exponents, clamps, breakpoints, random numbers, latency, resets.

Results of exp2 are irrational but for powers of two, so that none is a tie; all fractions, exponents and clamps are swept. The
table of tanh has each of its breakpoints swept.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random requests of a test, and
those of the sweeps over BF16 inputs and over breakpoints, which are all inputs where they fit.
"""

import os
from functools import cache

import cocotb
import numpy as np

from bitpath.rtl.aie_ml_v2.mover.layouts import Function, NonlinearConfig
from bitpath.rtl.aie_ml_v2.mover.nonlinear import Nonlinear
from bitpath.verif.aie_ml_v2.mover import benches
from bitpath.verif.aie_ml_v2.mover.nonlinear import (
    BINS,
    NAMES,
    SPECIALS,
    any_codes,
    bin_of,
    breakpoints,
    exponents,
    fractions,
    near_small,
    neighbours,
    nonlinear_requests,
    small_bins,
)
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.pipeline import PACES, Request
from bitpath.verif.kit.testplan import covers

CONFIG = config_from_environment(NonlinearConfig)
LANES = CONFIG.lanes
UNIT = Nonlinear(CONFIG)
CASES = int(os.environ.get("BITPATH_CASES", "200"))


@cache
def corners() -> dict[Function, np.ndarray]:
    """Both sides of every clamp, specials, and for exp2 every exponent."""
    of_exp2 = np.concatenate([exponents(), neighbours(SPECIALS)])
    limits = [2.0**-126, 2.0**-13, 2.0**-12, 3.46, 4, 8]
    of_tanh = neighbours([*SPECIALS, *np.array(limits, np.float32).view(np.uint32).tolist()])
    return {function: of_exp2 if function in NAMES else of_tanh for function in Function}


def _some(rng, codes: np.ndarray) -> np.ndarray:
    most = CASES * LANES
    return codes if len(codes) <= most else codes[sorted(rng.sample(range(len(codes)), most))]


@covers("nonlinear.bf16", "Inputs are often widened from BF16")
@cocotb.test(**benches.LIMIT)
@cocotb.parametrize(function=[each.name for each in Function])
async def bf16_inputs(dut, function):
    """Every BF16 number through every function."""
    codes = _some(pauses.rng("inputs"), np.arange(1 << 16, dtype=np.uint32) << 16)
    await benches.sweep(dut, UNIT, nonlinear_requests(Function[function], codes, LANES))


@covers("nonlinear.exp2", "A fraction may round up into the next exponent, and there into infinity")
@cocotb.test(**benches.LIMIT)
@cocotb.parametrize(function=[each.name for each in NAMES])
async def every_fraction(dut, function):
    """All 2048 fractions with the bits below them clear and set, every exponent of the result, both sides of each
    clamp, in BF16, FP16 and FP32."""
    await benches.sweep(dut, UNIT, nonlinear_requests(Function[function], fractions(), LANES))


@covers("nonlinear.tanh", "The table is exact where it changes at the right arguments")
@cocotb.test(**benches.LIMIT)
async def breakpoints_of_tanh(dut):
    """The least argument of each of 1,536 results, the argument before and the one behind, of both signs; limits of the
    table; specials."""
    codes = _some(pauses.rng("inputs"), neighbours(breakpoints()))
    await benches.sweep(dut, UNIT, nonlinear_requests(Function.TANH, codes, LANES))


@covers("nonlinear.exp2")
@covers("nonlinear.tanh")
@cocotb.test(**benches.LIMIT)
async def every_exponent_and_clamp(dut):
    requests = [each for function, codes in corners().items() for each in nonlinear_requests(function, codes, LANES)]
    await benches.sweep(dut, UNIT, requests)


@covers("nonlinear.boundaries", "The tangent of a small tie is below it, and one lost bit changes the result")
@cocotb.test(**benches.LIMIT)
async def range_boundaries(dut):
    """Tanh of arguments below 2**-12: ties of BF16 at zero, the smallest normal number and the next binade, even and
    odd, and a bit beside them at every distance."""
    codes, hit = zip(*near_small(pauses.rng("boundaries")), strict=True)
    await benches.sweep(
        dut, UNIT, nonlinear_requests(Function.TANH, np.array(codes), LANES), small_bins(), filter(None, hit)
    )


@covers("nonlinear.stream", "Each request carries its own function")
@cocotb.test(**benches.LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def random_requests(dut, pace):
    """Any numbers and functions in any order, full speed, gaps, stalls and both; latency; resets."""
    rng = pauses.rng("numbers")
    requests: list[Request] = []
    hit = set()
    for function, codes in corners().items():
        chosen = np.concatenate([codes[:: len(codes) // 100 + 1], any_codes(function, rng, LANES * CASES // 4)])
        hit |= {bin_of(function, code) for code in chosen.tolist()}
        requests += nonlinear_requests(function, chosen, LANES)
    rng.shuffle(requests)
    await benches.exchange(dut, UNIT, requests, pace, BINS, hit)


def _random(rng) -> list[Request]:
    function = rng.choice(list(Function))
    return nonlinear_requests(function, any_codes(function, rng, LANES), LANES)


@covers("nonlinear.stream")
@cocotb.test(**benches.LIMIT)
async def latency(dut):
    rng = pauses.rng("numbers")
    await benches.one_at_a_time(dut, UNIT, [each for _ in range(20) for each in _random(rng)])


@covers("nonlinear.stream")
@cocotb.test(**benches.LIMIT)
async def resets(dut):
    """Resets with requests in flight."""
    rng = pauses.rng("numbers")
    await benches.resets(dut, UNIT, lambda: _random(rng))
