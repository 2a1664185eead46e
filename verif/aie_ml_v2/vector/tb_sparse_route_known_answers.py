"""Known answers of sparse products: the factors that the RTL routes are those at the archive's positions.

``BITPATH_KAT_DIR`` is the folder that holds them.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import SPARSE_GROUP
from bitpath.rtl.aie_ml_v2.vector.native_mac import SparseRoute, SparseRouteConfig, routed_layout, sparse_layout
from bitpath.verif.aie_ml_v2.mac.mac import stream_bits
from bitpath.verif.aie_ml_v2.vector.sparse_route import byte_mask
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Pipeline, Request
from bitpath.verif.kit.testplan import covers

CONFIG = config_from_environment(SparseRouteConfig)
SPARSE, ROUTED = sparse_layout(CONFIG), routed_layout(CONFIG)
NAMES = ("int8_8x16x8T", "int8_4x16x16T", "int16_64_4x8x8T")


def lanes(archive: dict[str, np.ndarray], name: str) -> list[Request]:
    """Return every lane of every case; the products of its expected factors and the accumulator make the archive's result."""
    wide = name.startswith("int16")
    bits = 16 if wide else 8
    positions = archive["mask_positions"].tolist()
    fields = [archive[f"{name}_{key}"] for key in ("a", "b", "slots", "mask", "acc", "out", "signed")]
    requests = []
    for a, b, slots, mask, acc, out, signed in zip(*fields, strict=True):
        rows, columns = acc.shape
        codes = slots.view(f"<u{bits // 8}").reshape(columns, -1).tolist()
        masks, stored = mask.reshape(columns, -1).tolist(), b.astype(f"<u{bits // 8}")
        for i, j in np.ndindex(rows, columns):
            places = [(SPARSE_GROUP * g, each) for g, each in enumerate(masks[j])]
            places = [first + at if at >= 0 else None for first, each in places for at in positions[each]]
            x = [0 if at is None else int(a[i, at]) for at in places]
            y = [0 if at is None else int(b[j, at]) for at in places]
            assert [each & (1 << bits) - 1 for each in y] == codes[j]
            assert (sum(p * q for p, q in zip(x, y, strict=True)) + int(acc[i, j]) - int(out[i, j])) % (1 << 32) == 0
            sent = {"wide": int(wide), "a": stream_bits(a[i].tolist(), bits), "slots": stream_bits(codes[j], bits)}
            expected = {"x": stream_bits(x, bits), "y": stream_bits(y, bits), "overfull": 0}
            requests.append(
                Request(
                    pack(SPARSE, sent | {"mask": byte_mask(stored[j])}),
                    pack(ROUTED, expected),
                    f"{name}, lane {i}, {j}, signed {signed.tolist()}",
                )
            )
    return requests


@covers("sparse_route.known_answers", "Another program computed them with Python's integers")
@cocotb.test(timeout_time=100, timeout_unit="ms")
async def every_lane(dut):
    """Every lane of three shapes, forty products each: factors at the stated positions, whose sum is the stated result."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "aie_tile_sparse.npz") as archive:
        files = dict(archive)
    sent = [request for name in NAMES for request in lanes(files, name)]
    async with bench(dut, SparseRoute(CONFIG).signature, drain=False) as frame:
        await Pipeline(frame, 0).sweep(sent)
