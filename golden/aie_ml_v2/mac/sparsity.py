"""50 % sparsity: compression in memory, the load stage's slots and mask, the MAC stage's routing, sparse products.

Ref: UG1583, Compressed Sparse Load Operations; UG1603, Sparse Matrix Multiplication; llvm-aie for the sparse shapes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bitpath.golden.aie_ml_v2.convert.integers import integer_dot
from bitpath.golden.aie_ml_v2.declarations.codes import (
    SPARSE_ALIGNMENT_BYTES,
    SPARSE_CHUNK_BYTES,
    SPARSE_GROUP,
    SPARSE_KEPT,
    SPARSE_PAIRS,
)
from bitpath.golden.aie_ml_v2.declarations.modes import INT8, INT16_64, MODES
from bitpath.golden.aie_ml_v2.mac.fused_dot import FLOAT_MODES, fused_dot
from bitpath.golden.aie_ml_v2.operands.arguments import in_groups, joined
from bitpath.golden.arrays.arguments import check_array, check_broadcast, check_choice, check_shape, checked
from bitpath.golden.scalar.checked import as_array

SPARSE_MODES = {**FLOAT_MODES, "int8": INT8, "int16_64": INT16_64}
"""Modes with sparse shapes, by the names that `fused_dot` and `integer_dot` take. MX has none."""
OVERFULL = ("error", "drop")
"""Treatments of a group with more than two entities: raise, or drop both slots."""
_EMPTY = SPARSE_GROUP
"""Position of a slot that holds nothing."""
_POSITIONS = np.full((1 << SPARSE_GROUP, SPARSE_KEPT), _EMPTY)
for _mask, _pair in SPARSE_PAIRS.items():
    _POSITIONS[_mask] = [_EMPTY if position is None else position for position in _pair]


@dataclass(frozen=True, eq=False)
class SparseVector:
    """Groups of four entities; each stores two slots.

    Attributes
    ----------
    slots : [..., G, 2] of any dtype, the low slot first; an empty one is 0.
    mask : uint8 [..., G], bit i of a group set where entity i is held: the nibbles of the Q register. A mask with more than
        two bits is overfull; the functions that route its slots raise, or with `overfull` "drop" multiply neither.

    Raises
    ------
    TypeError, ValueError : another dtype or shape; a mask of more than 4 bits.
    """

    slots: np.ndarray
    mask: np.ndarray

    def __post_init__(self) -> None:
        for name in ("slots", "mask"):
            object.__setattr__(self, name, as_array(name, getattr(self, name)))
        check_array("mask", self.mask, np.uint8)
        if self.slots.shape != (*self.mask.shape, SPARSE_KEPT) or self.mask.ndim < 1:
            raise ValueError(f"slots must have shape {(*self.mask.shape, SPARSE_KEPT)}, not {self.slots.shape}")
        if self.mask.size and self.mask.max() >= len(_POSITIONS):
            raise ValueError(f"mask must hold words of 4 bits, not {self.mask.max()}")


@checked
def compress(data: np.ndarray) -> np.ndarray:
    """Return 64 bytes as memory holds them: a mask of 64 bits, the nonzero bytes, zeros to a multiple of 4 bytes.

    Parameters
    ----------
    data : uint8 [64].

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """
    check_array("data", data, np.uint8)
    if data.shape != (SPARSE_CHUNK_BYTES,):
        raise ValueError(f"data must have shape ({SPARSE_CHUNK_BYTES},), not {data.shape}")
    packed = np.concatenate([np.packbits(data != 0, bitorder="little"), data[data != 0]])
    return np.pad(packed, (0, -len(packed) % SPARSE_ALIGNMENT_BYTES))


@checked
def decompress(stream: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the 64 bytes of one compressed chunk, their mask bits (bool [64]), and the bytes that it took.

    Parameters
    ----------
    stream : uint8 [n] that begins with the chunk.

    Raises
    ------
    TypeError, ValueError : another dtype or shape; too few bytes.
    """
    check_array("stream", stream, np.uint8)
    head = SPARSE_CHUNK_BYTES // 8
    if stream.ndim != 1 or len(stream) < head:
        raise ValueError(f"stream must have one axis of {head} or more, not shape {stream.shape}")
    mask = np.unpackbits(stream[:head], bitorder="little").astype(bool)
    used = -(-(head + int(mask.sum())) // SPARSE_ALIGNMENT_BYTES) * SPARSE_ALIGNMENT_BYTES
    if len(stream) < used:
        raise ValueError(f"stream has {len(stream)} bytes; its mask asks for {used}")
    data = np.zeros(SPARSE_CHUNK_BYTES, np.uint8)
    data[mask] = stream[head : head + int(mask.sum())]
    return data, mask, used


@checked
def sparse_load(stream: np.ndarray, entity_bytes: int = 1, *, overfull: str = "error") -> SparseVector:
    """Return one compressed chunk as the load stage expands it.

    Parameters
    ----------
    stream : uint8 [n], as `decompress` takes it.
    entity_bytes : 1 (8-bit entities, and pairs of int4) or 2, whose two mask bits are or-ed.
    overfull : "error", or "drop" for slots of 0 where a group has more than two entities.

    Returns
    -------
    slots uint8 [16, 2] or uint16 [8, 2] and their masks.

    Raises
    ------
    TypeError, ValueError : as `decompress`; more than two entities in a group, with `overfull` "error".
    """
    entity_bytes = check_choice("entity_bytes", entity_bytes, (1, 2))
    data, mask, _ = decompress(stream)
    entities = data.view(f"<u{entity_bytes}").astype(f"u{entity_bytes}")
    return _take("stream", entities, mask.reshape(-1, entity_bytes).any(axis=-1), overfull)


@checked
def to_sparse(dense: np.ndarray, *, overfull: str = "error") -> SparseVector:
    """Take the entities whose codes are not 0 out of an array [..., 4 * G]; `overfull` as in `sparse_load`.

    -0 has a code that is not 0, and counts.

    Raises
    ------
    TypeError, ValueError : more than two of four neighbours, with `overfull` "error"; another shape.
    """
    if dense.dtype.itemsize > 8:
        raise TypeError(f"dense must be of a dtype of at most 8 bytes, not {dense.dtype}")
    if dense.ndim < 1 or dense.shape[-1] % SPARSE_GROUP or not dense.shape[-1]:
        raise ValueError(f"dense must have shape [..., 4 * G], not {dense.shape}")
    codes = np.ascontiguousarray(dense).view(f"u{dense.dtype.itemsize}")
    return _take("dense", dense, codes != 0, overfull)


@checked
def to_dense(sparse: SparseVector, *, overfull: str = "error") -> np.ndarray:
    """Route slots to the positions of their mask bits: [..., 4 * G]; the inverse of `to_sparse`.

    Raises
    ------
    TypeError, ValueError : no SparseVector; an overfull group, unless `overfull` is "drop", which makes it zeros.
    """
    positions = _positions("sparse", sparse.mask, overfull)
    # A fifth place beyond the group's four, to which empty slots are routed.
    dense = np.zeros((*sparse.mask.shape, SPARSE_GROUP + 1), sparse.slots.dtype)
    np.put_along_axis(dense, positions, sparse.slots, axis=-1)
    return joined(dense[..., :SPARSE_GROUP])


@checked
def select(a: np.ndarray, sparse: SparseVector, *, overfull: str = "error") -> np.ndarray:
    """Return the entities of A that the slots multiply: [..., 4 * G] -> [..., 2 * G], 0 for an empty or dropped slot.

    Raises
    ------
    TypeError, ValueError : no SparseVector; other axes; an overfull group, unless `overfull` is "drop".
    """
    check_shape("a", a, "...", sparse.mask.shape[-1] * SPARSE_GROUP, why=" for the groups of sparse")
    check_broadcast(a=a.shape[:-1], sparse=sparse.mask.shape[:-1])
    padded, positions = with_empty(a), slot_positions(sparse, overfull)
    shape = np.broadcast_shapes(padded.shape[:-1], positions.shape[:-1])
    padded = np.broadcast_to(padded, (*shape, padded.shape[-1]))
    positions = np.broadcast_to(positions, (*shape, positions.shape[-1]))
    return np.take_along_axis(padded, positions, axis=-1)


def slot_positions(sparse: SparseVector, overfull: str = "error") -> np.ndarray:
    """Return which of 4 * G entities each slot multiplies, [..., 2 * G]; 4 * G for an empty or dropped slot."""
    groups = sparse.mask.shape[-1]
    own = _positions("b", sparse.mask, overfull)
    first = SPARSE_GROUP * np.arange(groups)[:, np.newaxis]
    return joined(np.where(own == _EMPTY, SPARSE_GROUP * groups, first + own))


def with_empty(entities: np.ndarray) -> np.ndarray:
    """Append to the last axis a zero, which empty slots hold."""
    return np.concatenate([entities, np.zeros((*entities.shape[:-1], 1), entities.dtype)], axis=-1)


@checked
def sparse_dot(
    a: np.ndarray,
    b: SparseVector,
    acc1: np.ndarray | None = None,
    acc2: np.ndarray | None = None,
    *,
    format: str,
    overfull: str = "error",
    **options: Any,
) -> np.ndarray:
    """Add the products of one lane with sparse B, and two accumulators.

    Parameters
    ----------
    a : [..., 2 * depth] of the mode's dtypes: 16, or 8 for "int16_64".
    b : slots [..., G, 2] with 4 * G as many entities; an empty slot multiplies nothing.
    acc1, acc2 : as `fused_dot` or `integer_dot`.
    format : "bf16", "fp16", "fp8", "int8" or "int16_64".
    overfull : "error", or "drop" to multiply neither slot of a group with more than two entities.
    options : options of `fused_dot` or `integer_dot`.

    Raises
    ------
    TypeError, ValueError : MX or another mode without sparsity; other shapes; an overfull group; as the dense operation.
    """
    check_choice("format", format, SPARSE_MODES)
    check_array("a", a)
    check_shape("a", a, "...", SPARSE_MODES[format].sparse_shapes[0].k, why=f" with format {format!r}")
    if b.mask.shape[-1] * SPARSE_GROUP != a.shape[-1]:
        raise ValueError(f"b must have {a.shape[-1] // SPARSE_GROUP} groups, not {b.mask.shape[-1]}")
    check_broadcast(a=a.shape[:-1], b=b.mask.shape[:-1])
    groups = SPARSE_GROUP * b.mask.shape[-1]
    empty = slot_positions(b, overfull) == groups
    dense_a = select(a, b, overfull=overfull)
    dense_b = np.where(empty, np.zeros((), b.slots.dtype), joined(b.slots))
    if format in MODES:
        return integer_dot(dense_a, dense_b, acc1, acc2, mode=format, **options)
    return fused_dot(dense_a, dense_b, acc1, acc2, format=format, **options)


def _take(name: str, entities: np.ndarray, held: Any, overfull: str) -> SparseVector:
    groups = in_groups(entities, SPARSE_GROUP)
    bits = held.reshape(groups.shape)
    mask = (bits << np.arange(SPARSE_GROUP)).sum(axis=-1).astype(np.uint8)
    return SparseVector(np.take_along_axis(with_empty(groups), _positions(name, mask, overfull), axis=-1), mask)


def _positions(name: str, mask: np.ndarray, overfull: str) -> np.ndarray:
    """Return the entity of each slot of groups, [..., 2]; 4 for an empty one, and where a group is overfull and drops."""
    drops = check_choice("overfull", overfull, OVERFULL) == "drop"
    wrong = mask[np.bitwise_count(mask) > SPARSE_KEPT]
    if wrong.size and not drops:
        raise ValueError(f"{name} must set two bits in each group of four, not {wrong[0]:04b}")
    return _POSITIONS[mask]
