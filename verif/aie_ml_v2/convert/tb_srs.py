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
from bitpath.rtl.aie_ml_v2.convert.srs import IntegerLanesConfig, Srs
from bitpath.verif.aie_ml_v2.convert.numbers import numbers_of, one_a_row, single_bits
from bitpath.verif.aie_ml_v2.convert.srs import KINDS, MODES, SrsAsk, random_srs, srs_corners, srs_requests
from bitpath.verif.aie_ml_v2.convert.srs_boundaries import bins, srs_boundaries
from bitpath.verif.aie_ml_v2.convert.sticky_flag import check_sticky_flag
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.pipeline import PACES, Pipeline, Request
from bitpath.verif.kit.testplan import covers

CONFIG = config_from_environment(IntegerLanesConfig)
LANES = CONFIG.lanes
SIGNATURE = Srs(CONFIG).signature
CASES = int(os.environ.get("BITPATH_CASES", "500"))
SHIFTS = [int(shift) for shift in os.environ.get("BITPATH_SHIFTS", "4 9").split()]
LIMIT = {"timeout_time": 10, "timeout_unit": "ms"}


@covers("srs.numbers", "Rounding and saturation interact at few of them")
@cocotb.test(timeout_time=100, timeout_unit="ms")
@cocotb.parametrize(rounding=[code.name for code in RoundingCode])
async def every_16_bit_number(dut, rounding):
    """All 65,536 16-bit numbers to 8 bits in ten rounding codes and every saturation at two shifts; at all shifts from
    -4 to 17 in the deep tests."""
    rng = pauses.rng("numbers")
    requests: list[Request] = []
    for shift, saturation in product(SHIFTS, Saturation):
        ask = SrsAsk(32, 8, shift, RoundingCode[rounding], saturation)
        requests += srs_requests(ask, numbers_of(16, CASES * LANES, rng), LANES)
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, Srs.LATENCY).sweep(requests)


@covers("srs.limits")
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


@covers(
    "srs.limits",
    "Saturation follows rounding, and the symmetric range has one number less",
    "The largest and smallest results and one beyond, all widths, signed and unsigned, three saturation modes; "
    "numbers that exceed a limit only after rounding",
)
@covers(
    "srs.rounding",
    "Golden and RTL could share a wrong table",
    "Multiples of a quarter, both signs, ten rounding codes, with the expected result stated, at a small shift "
    "and near the lane's width",
)
@covers(
    "srs.shifts",
    "64-bit lanes need 68 bits internally, and shifts exceed the width of 32-bit lanes",
    "Left shifts (-4 to -1) to a limit, past it, and with the high bits discarded; shifts by the lane's width and "
    "by 63, which leave sign and rounding",
)
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


@covers("srs.boundaries", "Random accumulators rarely have one sticky bit far below a limit")
@cocotb.test(**LIMIT)
async def range_boundaries(dut):
    """Results and ties at zero, both limits, an even and an odd result, and beside them a sticky bit at every distance
    that an accumulator has, all widths, signed and unsigned; both kinds of rounding codes."""
    table = list(srs_boundaries(pauses.rng("boundaries")))
    requests = [each for beside in table for each in srs_requests(beside.ask, beside.accs, LANES)]
    async with bench(dut, SIGNATURE, drain=False) as frame:
        coverage = frame.coverage(bins())
        for name in chain(*(beside.hits for beside in table)):
            coverage.hit(name)
        await Pipeline(frame, Srs.LATENCY).sweep(requests)


@covers("srs.shifts")
@covers("srs.stream", "Each request carries its own control")
@cocotb.test(**LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def random_registers(dut, pace):
    """Every combination of widths, codes and sign with any shift, in any order, full speed, gaps, stalls and both;
    latency; resets."""
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


@covers("srs.flag", "A stalled result must not set the flag twice, and a clear must not lose an overflow")
@cocotb.test(**LIMIT)
async def sticky_flag(dut):
    """srSRS_of is set once a result with overflow is taken, not while it stalls; it stays set until cleared; a result
    taken in the cycle of the clear sets it."""
    quiet, loud = (srs_requests(SrsAsk(32, 8), np.array([0, number]), LANES)[0] for number in (127, 128))
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await check_sticky_flag(frame, quiet, loud, Srs.LATENCY)


@covers("srs.stream")
@cocotb.test(**LIMIT)
async def latency(dut):
    rng = pauses.rng("registers")
    requests = [each for kind in rng.sample(KINDS, 20) for each in random_srs(kind, rng, LANES)]
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, Srs.LATENCY).one_at_a_time(requests)


@covers("srs.stream")
@cocotb.test(**LIMIT)
async def resets(dut):
    """Resets with requests in all pipeline stages."""
    rng = pauses.rng("registers")
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, Srs.LATENCY).resets(lambda: random_srs(rng.choice(KINDS), rng, LANES))
