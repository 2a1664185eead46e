"""AIE-ML v2's tile: the cycle table, and the layers with their cycles."""

from functools import cache

import numpy as np

from bitpath.golden import aie_ml_v2
from bitpath.golden.aie_ml_v2.declarations.modes import TIMINGS, Datapath
from bitpath.golden.aie_ml_v2.declarations.tile import LOAD, MOVE, POP, PUSH_MX, STORE, STORE_SRS
from parts.records import markdown

OPERATIONS = {
    "load": LOAD,
    "FIFO pop": POP,
    "store": STORE,
    "store with SRS": STORE_SRS,
    "push with FP32 to MX9, flush": PUSH_MX,
    "shuffle": MOVE,
}
PRODUCTS = {
    Datapath.INTEGER: "integer product",
    Datapath.MX6: "MX6 product",
    Datapath.FLOAT: "float product",
    Datapath.MX9: "MX9 product",
}
SEED = 34


def cycle_table() -> str:
    """Return when each operation reads, reaches memory and writes."""
    rows = [[name, each.read, "", each.memory or "", each.result or ""] for name, each in OPERATIONS.items()]
    rows += [
        [
            name,
            ", ".join(map(str, TIMINGS[kind].operand_reads)),
            TIMINGS[kind].accumulator_read,
            "",
            TIMINGS[kind].write,
        ]
        for kind, name in PRODUCTS.items()
    ]
    return markdown(["operation", "reads operands", "reads the accumulator", "reaches memory", "writes"], rows)


@cache
def layers() -> list[list[object]]:
    """Return cycles and rates of layers on the tile."""
    rng = np.random.default_rng(SEED)
    numbers = [rng.integers(-128, 128, shape) for shape in ((64, 128), (128, 64))]
    floats = [rng.standard_normal(shape).astype(np.float32) for shape in ((64, 128), (128, 64))]
    made = {
        "int8": (aie_ml_v2.integer_layer(*numbers, mode="int8", shift=9), "raise", 512),
        "int8, A and B in one pair of banks": (
            aie_ml_v2.integer_layer(*numbers, mode="int8", shift=9, b_at=0x2000),
            "stall",
            512,
        ),
        "MX9": (aie_ml_v2.mx9_layer(*floats), "raise", 512),
    }
    rows: list[list[object]] = []
    for name, (layer, conflicts, peak) in made.items():
        _, report = aie_ml_v2.run_layer(layer, conflicts=conflicts)
        rate = layer.macs / report.cycles
        rows.append([name, report.products, f"{report.cycles:,}", report.stalls["banks"], f"{rate:.1f} of {peak}"])
    return rows


def layer_table() -> str:
    """Return the cycles of a layer of 64 x 128 x 64 in its formats."""
    return markdown(["layer", "products", "cycles", "stalls", "MACs a cycle"], layers())
