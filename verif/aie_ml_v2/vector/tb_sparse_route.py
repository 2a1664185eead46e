"""Bench of the sparse routing: every mask in every group, products of native shapes from compressed streams, random lanes.

Expected factors come from golden's rule before anything is driven. ``BITPATH_CASES`` sets the random lanes of a test.
"""

from collections.abc import Sequence
from random import Random

import cocotb
import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import SPARSE_GROUP, SPARSE_KEPT
from bitpath.golden.aie_ml_v2.declarations.modes import INT8, INT16_64, Mode, Shape
from bitpath.rtl.aie_ml_v2.vector.native_mac import SparseRoute, SparseRouteConfig
from bitpath.verif.aie_ml_v2.vector.sparse_route import byte_mask, codes, routed
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.coverage import Coverage, cross
from bitpath.verif.kit.pipeline import Made, Request, StreamBench
from bitpath.verif.kit.testplan import covers

CONFIG = config_from_environment(SparseRouteConfig)
ENTITIES, SLOTS = SPARSE_GROUP * CONFIG.groups, SPARSE_KEPT * CONFIG.groups
SIZES = (8, 16)
SHAPES = {
    f"{mode.name}_{shape.name}": (mode, shape)
    for mode in (INT8, INT16_64)
    for shape in mode.sparse_shapes
    if shape.k <= ENTITIES
}
"""Integer products whose rows of A the configured groups hold."""


def bytes_of(rng: Random, bits: int, mask: int) -> int:
    """Return the byte mask of an entity mask; of two bytes one or both are present."""
    if bits == SIZES[0]:
        return mask
    return sum(rng.choice((1, 2, 3)) << 2 * k for k in range(ENTITIES) if mask >> k & 1)


def lane(rng: Random, bits: int, masks: list[int]) -> Request:
    """A lane of random codes, or of all ones, with the masks of its groups."""
    ones = rng.random() < 0.2
    a, slots = ([(1 << bits) - 1 if ones else rng.getrandbits(bits) for _ in range(n)] for n in (ENTITIES, SLOTS))
    mask = sum(each << SPARSE_GROUP * g for g, each in enumerate(masks))
    return routed(CONFIG, bits, a, slots, bytes_of(rng, bits, mask), f"{bits} bits")[0]


def draw(kinds: Sequence[int], rng: Random) -> list[Request]:
    made = []
    for bits in kinds:
        masks = [rng.getrandbits(SPARSE_GROUP) & rng.getrandbits(SPARSE_GROUP) for _ in range(CONFIG.groups)]
        made.append(lane(rng, bits, masks))
    return made


BENCH = StreamBench(__name__, SparseRouteConfig, SparseRoute, SIZES, draw, cycles=0, draws="lanes")
random_lanes = BENCH.random("random_lanes")
covers(
    "sparse_route.stream",
    "The routing passes valid and ready through",
    "Random lanes at full speed, with gaps, stalls and both",
    random_lanes,
)


@covers("sparse_route.masks", "Each mask has its own two positions, and a mask of three or four bits drops both slots")
@BENCH.sweep(bits=list(SIZES))
def every_mask(bits: int) -> Made:
    """All 16 masks in every group, for entities of 8 and of 16 bits; either or both bytes of 16 bits present; codes of
    all ones."""
    rng, masks = pauses.rng("masks"), range(1 << SPARSE_GROUP)
    rows = [[(first + 5 * g) % len(masks) for g in range(CONFIG.groups)] for first in masks]
    hit = (f"{g}/{mask}" for row in rows for g, mask in enumerate(row))
    return [lane(rng, bits, row) for row in rows for _ in range(6)], Coverage(cross(range(CONFIG.groups), masks), hit)


def tile_lanes(rng: np.random.Generator, mode: Mode, tile: Shape) -> list[tuple[int, int, Request]]:
    bits, dtype = mode.b_bits, np.dtype(f"i{mode.b_bits // 8}")
    top = 1 << bits - 1
    a = rng.integers(-top, top, (tile.m, tile.k)).astype(dtype)
    order = np.argsort(rng.random((tile.n, tile.k // SPARSE_GROUP, SPARSE_GROUP)), axis=-1)
    kept = order < rng.integers(0, SPARSE_KEPT + 1, (*order.shape[:2], 1))
    b = np.where(kept.reshape(tile.n, tile.k), rng.integers(-top, top, (tile.n, tile.k)), 0).astype(dtype)
    loaded = [aie.sparse_load(aie.compress(each), bits // 8) for each in b.view(np.uint8).reshape(-1, 64)]
    slots = np.concatenate([each.slots for each in loaded]).reshape(tile.n, -1)
    dense = a.astype(np.int64) @ b.astype(np.int64).T
    lanes = []
    for i, j in np.ndindex(tile.m, tile.n):
        request, pairs = routed(CONFIG, bits, codes(a[i]), codes(slots[j]), byte_mask(b[j]), f"lane {i}, {j}")
        numbers = np.array(pairs).astype(f"u{bits // 8}").view(dtype).astype(np.int64)
        assert (numbers[:, 0] * numbers[:, 1]).sum() == dense[i, j]
        lanes.append((i, j, request))
    return lanes


@covers("sparse_route.products", "Load stage and routing must agree on the order of slots and mask bits")
@BENCH.sweep(shape=[cocotb.Param(value=name, name=name) for name in SHAPES])
def products(shape: str) -> Made:
    """Every lane of every sparse integer shape from B's compressed bytes; the factors sum to the product with B
    decompressed."""
    mode, tile = SHAPES[shape]
    rng = np.random.default_rng(pauses.rng("tile").getrandbits(32))
    lanes = tile_lanes(rng, mode, tile)
    return [each for *_, each in lanes], Coverage(
        cross(range(tile.m), range(tile.n)), (f"{i}/{j}" for i, j, _ in lanes)
    )
