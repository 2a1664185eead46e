"""Bench of the rand2 lane: golden's rand2 in every dtype, ranges and edges, random beats at every pace, latency, resets.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random beats of a test.
"""

import os
from functools import cache

import cocotb
import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.trainium3.declarations.dtypes import FORMATS
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.lanes.rand2_lane import Rand2Config, Rand2Lane
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.pipeline import PACES, Pipeline
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.dtype_words import codes_of
from bitpath.verif.trainium3.engines.codes import destination
from bitpath.verif.trainium3.lanes.rand2_lane import (
    BINS,
    RANGES,
    beats_of,
    bins_of,
    codes,
    every_edge,
    every_range,
    random_value,
    requests,
)
from bitpath.verif.trainium3.refusals import refuse_among, unknown
from bitpath.verif.trainium3.vector.xorwow import random_states

CONFIG = config_from_environment(Rand2Config)
STAGES = CONFIG.pipeline.stages
SIGNATURE = Rand2Lane(CONFIG).signature
CASES = int(os.environ.get("BITPATH_CASES", "500"))
LIMIT = {"timeout_time": 10, "timeout_unit": "ms"}


@cache
def directed():
    """Beats that hit all bins: the same in every test."""
    return every_range()


@covers("rand2_lane.partitions", "Element j of a partition comes from state j mod 4")
@cocotb.test(**LIMIT)
async def partitions(dut):
    """Words of four XORWOW states in each of the 13 dtypes, against golden's instruction, a beat a cycle."""
    rng = pauses.rng("states")
    sent = []
    for dtype in FORMATS:
        states = random_states(rng)[np.newaxis]
        low, high = rng.choice(RANGES)
        count = 4 * max(CASES // 20, 5)
        numbers = trainium3.rand2(trainium3.Xorwow(states), count, low, high, dtype=destination(dtype))
        words = trainium3.Xorwow(states).elements(count)
        sent += requests(beats_of(words, *codes(low, high), dtype), CONFIG.width, codes_of(numbers).reshape(-1, 4))
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).sweep(sent)


@covers(
    "rand2_lane.ranges",
    "A number may round up to the upper limit; the difference of the limits may overflow; integers saturate",
)
@cocotb.test(**LIMIT)
async def ranges(dut):
    """Each dtype between limits within, at and beyond its range, on words of one bit, zeros and ones; every edge of
    FP32 as either limit."""
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).sweep(requests([*directed(), *every_edge(pauses.rng("edges"))], CONFIG.width))


@covers("rand2_lane.ranges")
@covers("rand2_lane.stream", "Limits and dtype must move with their words")
@cocotb.test(**LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def random_beats(dut, pace):
    """Beats in any order at full speed, with gaps, stalls and both; a beat a cycle; latency is the number of stages."""
    rng = pauses.rng("beats")
    values = [*directed(), *(random_value(rng) for _ in range(CASES))]
    async with bench(dut, SIGNATURE) as frame:
        coverage = frame.coverage(BINS)
        for name in bins_of(values):
            coverage.hit(name)
        await Pipeline(frame, STAGES).exchange(requests(values, CONFIG.width), pace)


@covers("rand2_lane.stream")
@cocotb.test(**LIMIT)
async def latency(dut):
    rng = pauses.rng("beats")
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).one_at_a_time(requests([random_value(rng) for _ in range(20)], CONFIG.width))


@covers("rand2_lane.refused", "Nothing comes of them")
@cocotb.test(**LIMIT, skip=not (CONFIG.checks and STAGES))
async def refused_beats(dut):
    """Beats of every dtype that there is not among others."""
    rng = pauses.rng("refused")
    sent = requests([random_value(rng) for _ in range(40)], CONFIG.width)
    wrong = [(Fault.DTYPE, {"dtype": code}) for code in unknown(Dtype)] * 10
    async with bench(dut, SIGNATURE) as frame:
        await refuse_among(frame, sent, wrong, rng)


@covers("rand2_lane.reset", "Data registers have no reset; only the valid bits hide their contents")
@cocotb.test(**LIMIT, skip=not STAGES)
async def resets(dut):
    """Resets with beats in some and in all pipeline stages, with and without a stall: no result of them appears, and
    later ones do."""
    rng = pauses.rng("beats")
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).resets(lambda: requests([random_value(rng) for _ in range(2)], CONFIG.width))
