"""Known answers of native products: the operands that the RTL routes make the archive's results.

``BITPATH_KAT_DIR`` is the folder that holds them.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.golden.aie_ml_v2.exact import integer_lane
from bitpath.rtl.aie_ml_v2.vector.config import OperandShapesConfig
from bitpath.rtl.aie_ml_v2.vector.native_shapes import NativeShape
from bitpath.rtl.aie_ml_v2.vector.operand_shapes import OperandShapes
from bitpath.verif.aie_ml_v2.mac.mac import stream_bits
from bitpath.verif.aie_ml_v2.vector.operand_shapes import NATIVES, network_request
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.pipeline import Pipeline, Request
from bitpath.verif.kit.testplan import covers

CONFIG = config_from_environment(OperandShapesConfig)
NAMES = {
    "INT8_ELEM_64_2": "int8_elem_64_2",
    "INT16_ELEM_64_1": "int16_elem_64",
    "INT16_64_ELEM_32_2": "int16_64_elem_32_2",
}
"""Archive's names of the shapes that it calls otherwise."""


def requests(archive: dict[str, np.ndarray], shape: NativeShape) -> list[Request]:
    """Return every part of every case, after golden's lanes were found equal to the archive's."""
    native = NATIVES[shape.name]
    known = {name.removesuffix("_out").upper(): name.removesuffix("_out") for name in archive if name.endswith("_out")}
    name = NAMES.get(shape.name) or known[shape.name]
    found, junk = [], pauses.rng("unused")
    for a, b, acc, out in zip(*(archive[f"{name}_{key}"].tolist() for key in ("a", "b", "acc", "out")), strict=True):
        for lane in range(native.lanes):
            x, y, _ = native.lane(a, b, 0, lane)
            assert integer_lane(native.mode, x, y, acc[lane]) == out[lane]
        x, y = (stream_bits(side, bits) for side, bits in zip((a, b), native.bits, strict=True))
        for part in range(CONFIG.parts):
            found.append(network_request(CONFIG, shape, part, x, y, junk.getrandbits(256), junk.getrandbits(32)))
    return found


@covers("operand_shapes.known_answers", "Another program computed them with Python's integers")
@cocotb.test(timeout_time=100, timeout_unit="ms")
async def every_lane(dut):
    """Every lane of ten shapes: the operands at its places, whose products and the accumulator make the stated result."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "aie_tile_mac_shapes.npz") as files:
        archive = dict(files)
    sent = [request for shape in CONFIG.shapes for request in requests(archive, shape)]
    async with bench(dut, OperandShapes(CONFIG).signature, drain=False) as frame:
        await Pipeline(frame, 0).sweep(sent)
