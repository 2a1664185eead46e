"""Bench of UPS: all 8-bit and 16-bit numbers, corners, random vectors at any pace, sticky flag, latency, resets.

UPS rounds nothing: the boundaries of its results are the limits of saturation, and corners stand at and beside each.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random vectors of a test, and the
vectors of every combination of the sweep over 16-bit numbers, which are all 65,536 where they fit.
"""

import os
from itertools import product

import cocotb
import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import UPS_SHIFTS, Saturation
from bitpath.rtl.aie_ml_v2.convert.srs import IntegerLanesConfig
from bitpath.rtl.aie_ml_v2.convert.ups import Ups
from bitpath.verif.aie_ml_v2.convert.numbers import numbers_of, one_a_row, single_bits
from bitpath.verif.aie_ml_v2.convert.sticky_flag import check_sticky_flag
from bitpath.verif.aie_ml_v2.convert.ups import KINDS, MODES, UpsAsk, random_ups, ups_corners, ups_requests
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.pipeline import PACES, Pipeline, Request
from bitpath.verif.kit.testplan import covers

CONFIG = config_from_environment(IntegerLanesConfig)
LANES = CONFIG.lanes
SIGNATURE = Ups(CONFIG).signature
CASES = int(os.environ.get("BITPATH_CASES", "500"))
SHIFTS = {32: (16, 17), 64: (49,)}
"""Shifts of 16-bit numbers around the one at which the largest overflow, for both lane widths."""
LIMIT = {"timeout_time": 10, "timeout_unit": "ms"}
SIGNS = {"signed": True, "unsigned": False}


@covers("ups.numbers", "Each number overflows at a shift of its own")
@covers("ups.beyond")
@cocotb.test(**LIMIT)
@cocotb.parametrize(saturation=[code.name for code in Saturation], sign=list(SIGNS))
async def every_8_bit_number(dut, saturation, sign):
    """All 8-bit numbers with all 64 shifts, all 16-bit numbers with shifts around the largest that fits, every
    saturation mode, signed and unsigned."""
    await _every_number(dut, [UpsAsk(32, 8, shift, Saturation[saturation], SIGNS[sign]) for shift in UPS_SHIFTS])


@covers("ups.numbers")
@cocotb.test(**LIMIT)
@cocotb.parametrize(acc_bits=list(SHIFTS), saturation=[code.name for code in Saturation], sign=list(SIGNS))
async def every_16_bit_number(dut, acc_bits, saturation, sign):
    """Every 16-bit number with shifts around the largest that fits."""
    asks = [UpsAsk(acc_bits, 16, shift, Saturation[saturation], SIGNS[sign]) for shift in SHIFTS[acc_bits]]
    await _every_number(dut, asks)


@covers("ups.limits")
@cocotb.test(**LIMIT)
@cocotb.parametrize(saturation=[code.name for code in Saturation], sign=list(SIGNS))
async def single_bits_by_every_shift(dut, saturation, sign):
    """Numbers with a single bit, and with all bits but one, in a lane among zeros; each overflows at some shift."""
    signed, rng = SIGNS[sign], pauses.rng("numbers")
    requests: list[Request] = []
    for (acc_bits, bits), shift in product(MODES, UPS_SHIFTS):
        numbers = single_bits(bits) if signed else single_bits(bits) % (1 << bits)
        ask = UpsAsk(acc_bits, bits, shift, Saturation[saturation], signed)
        requests += ups_requests(ask, one_a_row(numbers, ask.count(LANES)), LANES, rng)
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, Ups.LATENCY).sweep(rng.sample(requests, min(len(requests), 8 * CASES)))


async def _every_number(dut, asks: list[UpsAsk]) -> None:
    rng = pauses.rng("numbers")
    requests: list[Request] = []
    for ask in asks:
        numbers = numbers_of(ask.vector_bits, CASES * ask.count(LANES), rng)
        numbers = numbers if ask.signed else numbers % (1 << ask.vector_bits)
        requests += ups_requests(ask, numbers, LANES, rng)
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, Ups.LATENCY).sweep(requests)


@covers(
    "ups.limits",
    "A saturated lane is a multiple of 2**shift, and the symmetric range has one multiple less",
    "The largest and smallest numbers that fit after a shift and one beyond, all widths, three saturations",
)
@covers(
    "ups.signs",
    "Narrow lanes share one register, so neighbours must not leak into each other",
    "All ones as -1 and as the largest unsigned number; random bits above the vector",
)
@covers(
    "ups.beyond",
    "UG1639 requires it, and a shifter that wraps its amount fails it",
    "Shifts of 32, 33 and 63 into 32-bit lanes give 0 in every saturation mode",
)
@cocotb.test(**LIMIT)
async def directed_corners(dut):
    """Directed corners, each in another lane among zeros."""
    rng = pauses.rng("junk")
    table = ups_corners()
    requests = []
    for index, each in enumerate(table):
        row = np.zeros(each.ask.count(LANES), np.int64)
        row[index % len(row)] = each.x
        requests += ups_requests(each.ask, row, LANES, rng)
    async with bench(dut, SIGNATURE, drain=False) as frame:
        coverage = frame.coverage([each.bin for each in table])
        for each in table:
            if each.holds:
                coverage.hit(each.bin)
        await Pipeline(frame, Ups.LATENCY).sweep(requests)


@covers("ups.signs")
@covers("ups.stream", "Each request carries its own control")
@cocotb.test(**LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def random_vectors(dut, pace):
    """Every combination of widths, saturation and sign with any shift, in any order, full speed, gaps, stalls and both;
    latency; resets."""
    rng = pauses.rng("vectors")
    order = [*KINDS, *rng.choices(KINDS, k=max(0, CASES - len(KINDS)))]
    rng.shuffle(order)
    requests = [each for kind in order for each in random_ups(kind, rng, LANES)]
    async with bench(dut, SIGNATURE) as frame:
        coverage = frame.coverage([kind.bin for kind in KINDS])
        for kind in order:
            coverage.hit(kind.bin)
        await Pipeline(frame, Ups.LATENCY).exchange(requests, pace)


@covers("ups.flag", "A stalled result must not set the flag twice, and a clear must not lose an overflow")
@cocotb.test(**LIMIT)
async def sticky_flag(dut):
    """srUPS_of is set once a result with overflow is taken, not while it stalls; it stays set until cleared; a result
    taken in the cycle of the clear sets it."""
    rng = pauses.rng("junk")
    quiet, loud = (ups_requests(UpsAsk(32, 16, 24), np.array([0, number]), LANES, rng)[0] for number in (127, 128))
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await check_sticky_flag(frame, quiet, loud, Ups.LATENCY)


@covers("ups.stream")
@cocotb.test(**LIMIT)
async def latency(dut):
    rng = pauses.rng("vectors")
    requests = [each for kind in rng.sample(KINDS, 20) for each in random_ups(kind, rng, LANES)]
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, Ups.LATENCY).one_at_a_time(requests)


@covers("ups.stream")
@cocotb.test(**LIMIT)
async def resets(dut):
    """Resets with requests in all pipeline stages."""
    rng = pauses.rng("vectors")
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, Ups.LATENCY).resets(lambda: random_ups(rng.choice(KINDS), rng, LANES))
