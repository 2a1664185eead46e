"""Bench of the scale fetch: every offset and set of quadrants with unread rows poisoned, every row, paces, resets.

Golden's `fetch_scales` gives the expected scales. ``BITPATH_CASES`` sets the random columns of a test.
"""

import os

import cocotb
import numpy as np

from bitpath.golden.trainium3.declarations.quad_mx import QUADRANT, SCALE_OFFSETS
from bitpath.rtl.trainium3.memory.config import ScaleFetchConfig
from bitpath.rtl.trainium3.memory.scale_fetch import SCALES, ScaleFetch
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.coverage import cross
from bitpath.verif.kit.pipeline import PACES, Pipeline
from bitpath.verif.trainium3.memory.scale_fetch import column_request, poisoned, random_column

CONFIG = config_from_environment(ScaleFetchConfig)
SIGNATURE = ScaleFetch(CONFIG).signature
CASES = int(os.environ.get("BITPATH_CASES", "100"))
LIMIT = {"timeout_time": 10, "timeout_unit": "ms"}
LATENCY = 1
SETS = range(1, 1 << CONFIG.quadrants)


@cocotb.test(**LIMIT)
async def every_offset_and_quadrant(dut):
    """P of 32 to 128, and operands that start in a later quadrant; rows that must not be read hold 255."""
    rng = pauses.rng("columns")
    async with bench(dut, SIGNATURE, drain=False) as frame:
        coverage = frame.coverage(cross(SCALE_OFFSETS, SETS))
        sent = []
        for offset in SCALE_OFFSETS:
            for quadrants in SETS:
                sent.append(poisoned(CONFIG, offset, quadrants, rng))
                coverage.hit(offset, quadrants)
        await Pipeline(frame, LATENCY).sweep(sent)


@cocotb.test(**LIMIT)
async def every_row(dut):
    """A single bit in every row that holds scales, read at its own offset and at another one."""
    rng = pauses.rng("columns")
    async with bench(dut, SIGNATURE, drain=False) as frame:
        sent = []
        for quadrant in range(CONFIG.quadrants):
            for offset in SCALE_OFFSETS:
                for row in range(SCALES):
                    for read in (offset, rng.choice([each for each in SCALE_OFFSETS if each != offset])):
                        tile = np.zeros(QUADRANT * CONFIG.quadrants, np.uint8)
                        tile[QUADRANT * quadrant + offset + row] = 1 << rng.randrange(8)
                        sent.append(column_request(CONFIG, tile, read, SETS[-1]))
        await Pipeline(frame, LATENCY).sweep(sent)


@cocotb.test(**LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def random_columns(dut, pace):
    rng = pauses.rng("columns")
    async with bench(dut, SIGNATURE) as frame:
        await Pipeline(frame, LATENCY).exchange([random_column(CONFIG, rng) for _ in range(CASES)], pace)


@cocotb.test(**LIMIT)
async def latency_is_one_cycle(dut):
    rng = pauses.rng("columns")
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, LATENCY).one_at_a_time([random_column(CONFIG, rng) for _ in range(20)])


@cocotb.test(**LIMIT)
async def resets(dut):
    rng = pauses.rng("columns")
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, LATENCY).resets(lambda: [random_column(CONFIG, rng) for _ in range(2)])
