"""Bench of the scale fetch: every offset and set of quadrants with unread rows poisoned, every row, paces, resets.

Golden's `fetch_scales` gives the expected scales. ``BITPATH_CASES`` sets the random columns of a test.
"""

import os
from random import Random

import cocotb
import numpy as np

from bitpath.golden.trainium3.declarations.quad_mx import QUADRANT, SCALE_OFFSETS, SCALE_PARTITIONS
from bitpath.golden.trainium3.memory.access_pattern import fetch_scales
from bitpath.rtl.trainium3.memory.scale_fetch import ROWS, SCALES, ScaleFetch, ScaleFetchConfig, scale_rows
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.coverage import cross
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import PACES, Pipeline, Request
from bitpath.verif.kit.testplan import covers

# Columns of a scale tile for the scale fetch, and what golden takes out of them.


def column_request(config: ScaleFetchConfig, tile: np.ndarray, offset: int, quadrants: int) -> Request:
    """Return a request for a column uint8 [32 * quadrants of the array], and golden's scales of the quadrants in use."""
    expected = [0] * SCALES * config.quadrants
    for quadrant in range(config.quadrants):
        if quadrants >> quadrant & 1:
            own = tile[QUADRANT * quadrant : QUADRANT * (quadrant + 1), np.newaxis]
            found = fetch_scales(own, QUADRANT, offset)[::SCALE_PARTITIONS, 0]
            expected[SCALES * quadrant : SCALES * (quadrant + 1)] = found.tolist()
    rows = tile.reshape(config.quadrants, QUADRANT)[:, :ROWS].tolist()
    fields = {"rows": rows, "offset": SCALE_OFFSETS.index(offset), "quadrants": quadrants}
    layout = scale_rows(config)
    result = sum(scale << 8 * i for i, scale in enumerate(expected))
    return Request(pack(layout, fields), result, f"offset {offset}, quadrants {quadrants:04b}")


def poisoned(config: ScaleFetchConfig, offset: int, quadrants: int, rng: Random) -> Request:
    """Return a request whose scales are below 255, with 255 in every row that must not be read."""
    tile = np.full((config.quadrants, QUADRANT), 255, np.uint8)
    for quadrant in range(config.quadrants):
        if quadrants >> quadrant & 1:
            tile[quadrant, offset : offset + SCALES] = [rng.randrange(255) for _ in range(SCALES)]
    return column_request(config, tile.ravel(), offset, quadrants)


def random_column(config: ScaleFetchConfig, rng: Random) -> Request:
    """Return a request of random rows, offset and quadrants."""
    tile = np.frombuffer(rng.randbytes(QUADRANT * config.quadrants), np.uint8)
    return column_request(config, tile, rng.choice(SCALE_OFFSETS), rng.getrandbits(config.quadrants))


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
