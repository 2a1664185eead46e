"""Columns of a scale tile for the scale fetch, and what golden takes out of them."""

from random import Random

import numpy as np

from bitpath.golden.trainium3.declarations.quad_mx import QUADRANT, SCALE_OFFSETS, SCALE_PARTITIONS
from bitpath.golden.trainium3.memory.scales import fetch_scales
from bitpath.rtl.trainium3.memory.scale_fetch import ROWS, SCALES, ScaleFetchConfig, scale_rows
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Request


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
