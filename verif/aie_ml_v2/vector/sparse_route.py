"""Requests for the sparse routing with the factors that golden's rule gives."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.codes import SPARSE_GROUP, SPARSE_KEPT
from bitpath.rtl.aie_ml_v2.vector.native_mac import SparseRouteConfig, routed_layout, sparse_layout
from bitpath.verif.aie_ml_v2.mac.mac import stream_bits
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Request

# Cached: Amaranth takes milliseconds to build a layout.
sparse_shape, routed_shape = cache(sparse_layout), cache(routed_layout)


def byte_mask(values: np.ndarray) -> int:
    """Return a bit for each byte of an array that is not 0, as the memory stream has them."""
    return stream_bits((values.view(np.uint8) != 0).astype(int).ravel().tolist(), 1)


def routed(
    config: SparseRouteConfig, bits: int, a: Sequence[int], slots: Sequence[int], mask: int, why: str
) -> tuple[Request, list[tuple[int, int]]]:
    """Return a request of codes of ``bits`` bits with a byte mask, and the pairs that the lane multiplies."""
    size = bits // 8
    present = [mask >> size * k & (1 << size) - 1 != 0 for k in range(len(a))]
    pairs, overfull = [], False
    for first in range(0, len(a), SPARSE_GROUP):
        group = sum(each << k for k, each in enumerate(present[first : first + SPARSE_GROUP]))
        two = slots[first // SPARSE_GROUP * SPARSE_KEPT :][:SPARSE_KEPT]
        pairs += exact.pairs(a[first : first + SPARSE_GROUP], tuple(two), group, "drop")
        overfull |= group.bit_count() > SPARSE_KEPT
    x, y = (stream_bits(side, bits) for side in zip(*pairs, strict=True))
    fields = {"wide": size - 1, "a": stream_bits(a, bits), "slots": stream_bits(slots, bits), "mask": mask}
    expected = pack(routed_shape(config), {"x": x, "y": y, "overfull": int(overfull)})
    return Request(pack(sparse_shape(config), fields), expected, f"{why}, mask {mask:#x}"), pairs


def codes(values: np.ndarray) -> list[int]:
    """Return integers of 8 or 16 bits as codes."""
    return values.view(f"u{values.dtype.itemsize}").tolist()
