"""50 % sparsity on single groups of four entities: decompression in the load stage, routing in the MAC stage.

Ref: UG1583, Compressed Sparse Load Operations; UG1603, Sparse Matrix Multiplication.
"""

from collections.abc import Sequence

from bitpath.golden.aie_ml_v2.declarations.codes import (
    SPARSE_ALIGNMENT_BYTES,
    SPARSE_CHUNK_BYTES,
    SPARSE_GROUP,
    SPARSE_PAIRS,
)
from bitpath.golden.scalar.arguments import check_choice, check_length
from bitpath.golden.scalar.checked import checked


@checked
def compress(data: bytes) -> bytes:
    """Return 64 bytes as their mask, their nonzero bytes, and zeros to a multiple of 4 bytes."""
    mask = sum(1 << i for i, byte in enumerate(data) if byte)
    packed = mask.to_bytes(SPARSE_CHUNK_BYTES // 8, "little") + bytes(byte for byte in data if byte)
    return packed + bytes(-len(packed) % SPARSE_ALIGNMENT_BYTES)


@checked
def positions(mask: int, overfull: str = "error") -> tuple[int | None, int | None]:
    """Return the entities of the low and of the high slot of a group; None for a slot that holds none.

    Raises
    ------
    ValueError : more than two entities in the mask, unless `overfull` is "drop", which drops both slots.
    """
    if mask in SPARSE_PAIRS:
        return SPARSE_PAIRS[mask]
    if check_choice("overfull", overfull, ("error", "drop")) == "error" or mask not in range(1 << SPARSE_GROUP):
        raise ValueError(f"mask must set two bits in each group of four, not {mask:04b}")
    return None, None


@checked
def load_group(entities: Sequence[int], mask: int, overfull: str = "error") -> tuple[int, int]:
    """Return the low and the high slot of four entities with a mask bit each; raises as `positions`."""
    check_length("entities", entities, SPARSE_GROUP)
    low, high = (0 if position is None else entities[position] for position in positions(mask, overfull))
    return low, high


@checked
def route_group(slots: tuple[int, int], mask: int, overfull: str = "error") -> list[int]:
    """Return the four entities that slots and mask describe; the inverse of `load_group`."""
    entities = [0] * SPARSE_GROUP
    for slot, position in zip(slots, positions(mask, overfull), strict=True):
        if position is not None:
            entities[position] = slot
    return entities


@checked
def pairs(a: Sequence[int], slots: tuple[int, int], mask: int, overfull: str = "error") -> list[tuple[int, int]]:
    """Return the two products that a group makes with four entities of A; an empty slot's operands are both 0."""
    check_length("a", a, SPARSE_GROUP)
    return [
        (0, 0) if position is None else (a[position], slots[i]) for i, position in enumerate(positions(mask, overfull))
    ]
