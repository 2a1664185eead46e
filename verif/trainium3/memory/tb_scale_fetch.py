"""Bench of the scale fetch: every offset and set of quadrants with unread rows poisoned, every row, paces, resets.

Golden's `fetch_scales` gives the expected scales. ``BITPATH_CASES`` sets the random columns of a test.
"""

from collections.abc import Sequence
from itertools import product
from random import Random

import numpy as np

from bitpath.golden.trainium3.declarations.quad_mx import QUADRANT, SCALE_OFFSETS, SCALE_PARTITIONS
from bitpath.golden.trainium3.memory.access_pattern import fetch_scales
from bitpath.rtl.trainium3.memory.scale_fetch import ROWS, SCALES, ScaleFetch, ScaleFetchConfig, scale_rows
from bitpath.verif.kit import pauses
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Made, Request, StreamBench
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


def draw(kinds: Sequence[None], rng: Random) -> list[Request]:
    return [random_column(BENCH.config, rng) for _ in kinds]


BENCH = StreamBench(__name__, ScaleFetchConfig, ScaleFetch, (None,), draw, cycles=1, default_cases=100, draws="columns")
CONFIG = BENCH.config
SETS = range(1, 1 << CONFIG.quadrants)
random_columns, latency, resets = BENCH.tests("random_columns")
covers(
    "scale_fetch.stream",
    "Moving scales come with each column",
    "Random columns with gaps, stalls and both; a column a cycle; latency of one cycle",
    random_columns,
    latency,
)
covers(
    "scale_fetch.reset",
    "The scales have no reset; only the valid bit hides them",
    "Resets with a column in the register, with and without a stall",
    resets,
)


@covers("scale_fetch.layout", "Four tensors share a tile of scales, and each must see its own rows alone")
@BENCH.sweep()
def every_offset_and_quadrant() -> Made:
    """Each of the four offsets with every set of quadrants: P of 32 to 128, and operands from a later quadrant on; 255
    in every row that must not be read."""
    rng, pairs = pauses.rng("columns"), list(product(SCALE_OFFSETS, SETS))
    names = [f"{offset}/{quadrants}" for offset, quadrants in pairs]
    return [poisoned(CONFIG, *pair, rng) for pair in pairs], Coverage(names, names)


@covers("scale_fetch.rows", "A row in a wrong place scales 8 rows of the array")
@BENCH.sweep()
def every_row() -> Made:
    """One bit in each of the 64 rows, at its own offset and at another."""
    rng, sent = pauses.rng("columns"), []
    for quadrant, offset, row in product(range(CONFIG.quadrants), SCALE_OFFSETS, range(SCALES)):
        for read in (offset, rng.choice([each for each in SCALE_OFFSETS if each != offset])):
            tile = np.zeros(QUADRANT * CONFIG.quadrants, np.uint8)
            tile[QUADRANT * quadrant + offset + row] = 1 << rng.randrange(8)
            sent.append(column_request(CONFIG, tile, read, SETS[-1]))
    return sent
