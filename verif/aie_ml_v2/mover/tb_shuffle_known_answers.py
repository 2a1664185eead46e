"""Known answers of shuffles through the RTL; results are compared with the archive's routes, not with golden.

``BITPATH_KAT_DIR`` is the folder that holds them.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.verif.aie_ml_v2.mover.tb_shuffle import BENCH, PARTS, parts_of, random_registers, shuffle_requests
from bitpath.verif.kit import pauses
from bitpath.verif.kit.pipeline import LIMIT
from bitpath.verif.kit.testplan import covers

ROUTES = {"x": "route", "e": "eg_route", "g": "eg_route", "f": "f_route"}
NARROW = 255
"""Stands for no route: the bytes of the result are 0."""


@covers("shuffle.known_answers", "They do not come from golden")
@cocotb.test(**LIMIT)
async def every_route(dut):
    """Routes of data, E, G and F that another author derived, most of them measured on AIE2."""
    rng = pauses.rng("registers")
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "aie_tile_shuffle.npz") as archive:
        routes = {name: archive[route] for name, route in ROUTES.items()}
        codes = archive["code"].tolist()
    requests = []
    for place, code in enumerate(codes):
        low, high = random_registers(rng, 8)
        sides = [parts_of(side) for side in (low, high)]
        moved = []
        for name in PARTS:
            sources, route = np.concatenate([side[name] for side in sides], axis=1), routes[name][place]
            moved.append(np.zeros_like(sides[0][name]) if route[0] == NARROW else sources[:, route])
        requests += shuffle_requests(code, low, high, np.concatenate(moved, axis=1))
    await BENCH.send(dut, requests)
