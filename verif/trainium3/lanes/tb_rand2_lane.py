"""Bench of the rand2 lane: golden's rand2 in every dtype, ranges and edges, random beats at every pace, latency, resets.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random beats of a test.
"""

from collections.abc import Sequence
from functools import cache
from random import Random

import cocotb
import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.trainium3.declarations.dtypes import FORMATS
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.lanes.rand2_lane import Rand2Config, Rand2Lane
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.pipeline import LIMIT, Made, Request, StreamBench
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.dtype_words import codes_of, destination
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


def draw(kinds: Sequence[None], rng: Random) -> list[Request]:
    return requests([random_value(rng) for _ in kinds], BENCH.config.width)


BENCH = StreamBench(__name__, Rand2Config, Rand2Lane, (None,), draw, default_cases=500, draws="beats")
latency, resets = BENCH.timing()
covers("rand2_lane.stream", latency)
covers(
    "rand2_lane.reset",
    "Data registers have no reset; only the valid bits hide their contents",
    "Resets with beats in some and in all pipeline stages, with and without a stall: no result of them appears, and later ones do",
    resets,
)


@cache
def directed():
    """Beats that hit all bins: the same in every test."""
    return every_range()


@covers("rand2_lane.partitions", "Element j of a partition comes from state j mod 4")
@BENCH.sweep()
def partitions() -> Made:
    """Words of four XORWOW states in each of the 13 dtypes, against golden's instruction, a beat a cycle."""
    rng = pauses.rng("states")
    sent = []
    for dtype in FORMATS:
        states = random_states(rng)[np.newaxis]
        low, high = rng.choice(RANGES)
        count = 4 * max(BENCH.cases // 20, 5)
        numbers = trainium3.rand2(trainium3.Xorwow(states), count, low, high, dtype=destination(dtype))
        words = trainium3.Xorwow(states).elements(count)
        sent += requests(
            beats_of(words, *codes(low, high), dtype), BENCH.config.width, codes_of(numbers).reshape(-1, 4)
        )
    return sent


@covers(
    "rand2_lane.ranges",
    "A number may round up to the upper limit; the difference of the limits may overflow; integers saturate",
)
@BENCH.sweep()
def ranges() -> Made:
    """Each dtype between limits within, at and beyond its range, on words of one bit, zeros and ones; every edge of
    FP32 as either limit."""
    return requests([*directed(), *every_edge(pauses.rng("edges"))], BENCH.config.width)


@covers("rand2_lane.ranges")
@covers("rand2_lane.stream", "Limits and dtype must move with their words")
@BENCH.exchange()
def random_beats(pace: str) -> Made:
    """Beats in any order at full speed, with gaps, stalls and both; a beat a cycle; latency is the number of stages."""
    rng = pauses.rng("beats")
    values = [*directed(), *(random_value(rng) for _ in range(BENCH.cases))]
    return requests(values, BENCH.config.width), Coverage(BINS, bins_of(values))


@covers("rand2_lane.refused", "Nothing comes of them")
@cocotb.test(**LIMIT, skip=not (BENCH.config.checks and BENCH.latency))
async def refused_beats(dut):
    """Beats of every dtype that there is not among others."""
    rng = pauses.rng("refused")
    sent = draw([None] * 40, rng)
    wrong = [(Fault.DTYPE, {"dtype": code}) for code in unknown(Dtype)] * 10
    async with bench(dut, BENCH.unit.signature) as frame:
        await refuse_among(frame, sent, wrong, rng)
