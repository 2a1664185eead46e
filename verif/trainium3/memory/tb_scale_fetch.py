"""Bench of the scale fetch: every offset and set of quadrants with unread rows poisoned, every row, paces, resets.

Golden's `fetch_scales` gives the expected scales. ``BITPATH_CASES`` sets the random columns of a test.
"""

import os

import cocotb
import numpy as np

from bitpath.golden.trainium3.declarations.quad_mx import QUADRANT, SCALE_OFFSETS
from bitpath.rtl.trainium3.memory.scale_fetch import SCALES, ScaleFetch, ScaleFetchConfig
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.coverage import cross
from bitpath.verif.kit.pipeline import PACES, Pipeline
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.memory.scale_fetch import column_request, poisoned, random_column

CONFIG = config_from_environment(ScaleFetchConfig)
SIGNATURE = ScaleFetch(CONFIG).signature
CASES = int(os.environ.get("BITPATH_CASES", "100"))
LIMIT = {"timeout_time": 10, "timeout_unit": "ms"}
LATENCY = 1
SETS = range(1, 1 << CONFIG.quadrants)


@covers("scale_fetch.layout", "Four tensors share a tile of scales, and each must see its own rows alone")
@cocotb.test(**LIMIT)
async def every_offset_and_quadrant(dut):
    """Each of the four offsets with every set of quadrants: P of 32 to 128, and operands from a later quadrant on; 255
    in every row that must not be read."""
    rng = pauses.rng("columns")
    async with bench(dut, SIGNATURE, drain=False) as frame:
        coverage = frame.coverage(cross(SCALE_OFFSETS, SETS))
        sent = []
        for offset in SCALE_OFFSETS:
            for quadrants in SETS:
                sent.append(poisoned(CONFIG, offset, quadrants, rng))
                coverage.hit(offset, quadrants)
        await Pipeline(frame, LATENCY).sweep(sent)


@covers("scale_fetch.rows", "A row in a wrong place scales 8 rows of the array")
@cocotb.test(**LIMIT)
async def every_row(dut):
    """One bit in each of the 64 rows, at its own offset and at another."""
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


@covers("scale_fetch.stream", "Moving scales come with each column")
@cocotb.test(**LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def random_columns(dut, pace):
    """Random columns with gaps, stalls and both; a column a cycle; latency of one cycle."""
    rng = pauses.rng("columns")
    async with bench(dut, SIGNATURE) as frame:
        await Pipeline(frame, LATENCY).exchange([random_column(CONFIG, rng) for _ in range(CASES)], pace)


@covers("scale_fetch.stream")
@cocotb.test(**LIMIT)
async def latency_is_one_cycle(dut):
    rng = pauses.rng("columns")
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, LATENCY).one_at_a_time([random_column(CONFIG, rng) for _ in range(20)])


@covers("scale_fetch.reset", "The scales have no reset; only the valid bit hides them")
@cocotb.test(**LIMIT)
async def resets(dut):
    """Resets with a column in the register, with and without a stall."""
    rng = pauses.rng("columns")
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, LATENCY).resets(lambda: [random_column(CONFIG, rng) for _ in range(2)])
