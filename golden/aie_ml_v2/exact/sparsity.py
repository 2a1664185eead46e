"""50 % sparsity on single groups of four entities: decompression in the load stage, routing in the MAC stage.

Ref: UG1583, Compressed Sparse Load Operations; UG1603, Sparse Matrix Multiplication.
"""

from collections.abc import Sequence

from bitpath.golden.aie_ml_v2.declarations.codes import (
    SPARSE_ALIGNMENT_BYTES,
    SPARSE_CHUNK_BYTES,
    SPARSE_GROUP,
    SPARSE_KEPT,
    SPARSE_PAIRS,
)
from bitpath.golden.scalar.arguments import check_length
from bitpath.golden.scalar.checked import checked


@checked
def compress(data: bytes) -> bytes:
    """Return 64 bytes as their mask, their nonzero bytes, and zeros to a multiple of 4 bytes."""
    mask = sum(1 << i for i, byte in enumerate(data) if byte)
    packed = mask.to_bytes(SPARSE_CHUNK_BYTES // 8, "little") + bytes(byte for byte in data if byte)
    return packed + bytes(-len(packed) % SPARSE_ALIGNMENT_BYTES)


@checked
def load_group(entities: Sequence[int], mask: int) -> tuple[int, int]:
    """Return the low and the high slot of four entities with a mask bit each.

    Raises
    ------
    ValueError : more than two entities in the mask.
    """
    check_length("entities", entities, SPARSE_GROUP)
    if mask not in SPARSE_PAIRS:
        raise ValueError(f"mask must set two bits in each group of four, not {mask:04b}")
    low, high = (0 if position is None else entities[position] for position in SPARSE_PAIRS[mask])
    return low, high


@checked
def route_group(slots: tuple[int, int], mask: int) -> list[int]:
    """Return the four entities that slots and mask describe; the inverse of `load_group`."""
    entities = [0] * SPARSE_GROUP
    for slot, position in zip(slots, SPARSE_PAIRS[mask], strict=True):
        if position is not None:
            entities[position] = slot
    return entities


@checked
def pairs(a: Sequence[int], slots: tuple[int, int], mask: int) -> list[tuple[int, int]]:
    """Return the two products that a group makes with four entities of A; an empty slot's operands are both 0."""
    check_length("a", a, SPARSE_GROUP)
    positions = SPARSE_PAIRS[mask]
    return [(0, 0) if positions[i] is None else (a[positions[i]], slots[i]) for i in range(SPARSE_KEPT)]
