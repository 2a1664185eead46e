"""Bench of SRS: every 16-bit number, corners, boundaries of the results, random registers at every pace, flag, latency, resets.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random registers of a test, and the
registers of every combination of the sweep over 16-bit numbers, which are all 65,536 where they fit; ``BITPATH_SHIFTS``
the sweep's shifts.
"""

import os
from itertools import chain, product

import cocotb
import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import SRS_SHIFTS, RoundingCode, Saturation
from bitpath.rtl.aie_ml_v2.convert.config import IntegerLanesConfig
from bitpath.rtl.aie_ml_v2.convert.srs import Srs
from bitpath.verif.aie_ml_v2.convert.numbers import numbers_of, one_a_row, single_bits
from bitpath.verif.aie_ml_v2.convert.srs import KINDS, MODES, SrsAsk, random_srs, srs_corners, srs_requests
from bitpath.verif.aie_ml_v2.convert.srs_boundaries import bins, srs_boundaries
from bitpath.verif.aie_ml_v2.convert.sticky_flag import check_sticky_flag
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.pipeline import PACES, Pipeline, Request

CONFIG = config_from_environment(IntegerLanesConfig)
LANES = CONFIG.lanes
SIGNATURE = Srs(CONFIG).signature
CASES = int(os.environ.get("BITPATH_CASES", "500"))
SHIFTS = [int(shift) for shift in os.environ.get("BITPATH_SHIFTS", "4 9").split()]
LIMIT = {"timeout_time": 10, "timeout_unit": "ms"}


@cocotb.test(timeout_time=100, timeout_unit="ms")
@cocotb.parametrize(rounding=[code.name for code in RoundingCode])
async def every_16_bit_number(dut, rounding):
    """Every 16-bit number to 8 bits in every saturation mode."""
    rng = pauses.rng("numbers")
    requests: list[Request] = []
    for shift, saturation in product(SHIFTS, Saturation):
        ask = SrsAsk(32, 8, shift, RoundingCode[rounding], saturation)
        requests += srs_requests(ask, numbers_of(16, CASES * LANES, rng), LANES)
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, Srs.LATENCY).sweep(requests)


@cocotb.test(**LIMIT)
async def single_bits_outside(dut):
    """Numbers with a single bit, and with all bits but one, in a lane among zeros; each exceeds some result range."""
    rng = pauses.rng("numbers")
    requests: list[Request] = []
    codes = product(MODES, (0, SRS_SHIFTS.start), Saturation, (False, True))
    for (acc_bits, out_bits), shift, saturation, signed in codes:
        ask = SrsAsk(acc_bits, out_bits, shift, saturation=saturation, signed=signed)
        requests += srs_requests(ask, one_a_row(single_bits(acc_bits), ask.count(LANES)), LANES)
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, Srs.LATENCY).sweep(rng.sample(requests, min(len(requests), 8 * CASES)))


@cocotb.test(**LIMIT)
async def directed_corners(dut):
    """Directed corners, each in another lane among zeros."""
    table = srs_corners()
    requests = []
    for index, each in enumerate(table):
        row = np.zeros(each.ask.count(LANES), np.int64)
        row[index % len(row)] = each.acc
        requests += srs_requests(each.ask, row, LANES)
    async with bench(dut, SIGNATURE, drain=False) as frame:
        coverage = frame.coverage([each.bin for each in table])
        for each in table:
            if each.holds:
                coverage.hit(each.bin)
        await Pipeline(frame, Srs.LATENCY).sweep(requests)


@cocotb.test(**LIMIT)
async def range_boundaries(dut):
    """Accumulators at and beside zero, both limits, an even and an odd result, each with a sticky bit at every distance."""
    table = list(srs_boundaries(pauses.rng("boundaries")))
    requests = [each for beside in table for each in srs_requests(beside.ask, beside.accs, LANES)]
    async with bench(dut, SIGNATURE, drain=False) as frame:
        coverage = frame.coverage(bins())
        for name in chain(*(beside.hits for beside in table)):
            coverage.hit(name)
        await Pipeline(frame, Srs.LATENCY).sweep(requests)


@cocotb.test(**LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def random_registers(dut, pace):
    """Every combination of widths and codes in random order, distributed over the paces, with random shifts."""
    rng = pauses.rng("registers")
    share = KINDS[list(PACES).index(pace) :: len(PACES)]
    order = [*share, *rng.choices(share, k=max(0, CASES - len(share)))]
    rng.shuffle(order)
    requests = [each for kind in order for each in random_srs(kind, rng, LANES)]
    async with bench(dut, SIGNATURE) as frame:
        coverage = frame.coverage([kind.bin for kind in share])
        for kind in order:
            coverage.hit(kind.bin)
        await Pipeline(frame, Srs.LATENCY).exchange(requests, pace)


@cocotb.test(**LIMIT)
async def sticky_flag(dut):
    quiet, loud = (srs_requests(SrsAsk(32, 8), np.array([0, number]), LANES)[0] for number in (127, 128))
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await check_sticky_flag(frame, quiet, loud, Srs.LATENCY)


@cocotb.test(**LIMIT)
async def latency(dut):
    rng = pauses.rng("registers")
    requests = [each for kind in rng.sample(KINDS, 20) for each in random_srs(kind, rng, LANES)]
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, Srs.LATENCY).one_at_a_time(requests)


@cocotb.test(**LIMIT)
async def resets(dut):
    """Resets with requests in all pipeline stages."""
    rng = pauses.rng("registers")
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, Srs.LATENCY).resets(lambda: random_srs(rng.choice(KINDS), rng, LANES))
