"""Moves between scalars and the lanes of a vector register, and masks of lanes as scalars.

Ref: AM027, Vector Unit; llvm-aie for the widths. Points that they leave open are listed in
`bitpath.golden.aie_ml_v2.declarations.choices.CHOICES`.
"""

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.mover import BROADCAST_LANE_BITS, MASK_LANES, SCALAR_BITS, SCALAR_LANE_BITS
from bitpath.golden.aie_ml_v2.operands.axes import in_groups
from bitpath.golden.aie_ml_v2.operands.vector import VECTOR_BYTES, check_vector
from bitpath.golden.arrays.arguments import check_array, check_choice, checked, integer, one_of

INDICES = range(1 << SCALAR_BITS)
"""Lane numbers that a register holds; they count modulo the number of lanes."""


@checked
def push(register: np.ndarray, scalar: int, *, bits: int, at_top: bool = False) -> np.ndarray:
    """Move a register by one lane, and put a scalar into the lowest lane, or the highest with `at_top`.

    Parameters
    ----------
    register : uint8 [..., 64].
    scalar : `bits` bits.
    bits : 8, 16, 32 or 64.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or width; a scalar that does not fit.
    """
    check_vector("register", register)
    lane = _lane(scalar, bits)
    lane = np.broadcast_to(lane, (*register.shape[:-1], len(lane)))
    kept = VECTOR_BYTES - lane.shape[-1]
    parts = [register[..., -kept:], lane] if at_top else [lane, register[..., :kept]]
    return np.concatenate(parts, axis=-1)


@checked
def insert(register: np.ndarray, index: int, scalar: int, *, bits: int) -> np.ndarray:
    """Replace one lane of a register by a scalar.

    Parameters
    ----------
    register : uint8 [..., 64].
    index : number of the lane, 32 bits, modulo the number of lanes.
    scalar : `bits` bits.
    bits : 8, 16, 32 or 64.

    Raises
    ------
    TypeError, ValueError : another dtype, shape, width or index; a scalar that does not fit.
    """
    check_vector("register", register)
    lane, out = _lane(scalar, bits), register.copy()
    fields = in_groups(out, len(lane))
    fields[..., integer("index", index, INDICES) % fields.shape[-2], :] = lane
    return out


@checked
def extract(register: np.ndarray, index: int, *, bits: int, signed: bool = True) -> np.ndarray:
    """Return one lane as a scalar register holds it: sign- or zero-extended to 32 bits; 64 bits as they are.

    Parameters
    ----------
    register : uint8 [..., 64].
    index : number of the lane, 32 bits, modulo the number of lanes.
    bits : 8, 16, 32 or 64.
    signed : True extends the sign.

    Returns
    -------
    uint32 [...], or uint64 [...] with 64 bits.

    Raises
    ------
    TypeError, ValueError : another dtype, shape, width or index.
    """
    lane = _picked(register, index, check_choice("bits", bits, SCALAR_LANE_BITS))
    number = np.ascontiguousarray(lane).view(f"<{'i' if signed else 'u'}{bits // 8}")[..., 0]
    return number.astype(np.uint64 if bits > SCALAR_BITS else np.uint32)


@checked
def broadcast(scalar: int, *, bits: int) -> np.ndarray:
    """Return a register whose lanes are all a scalar, uint8 [64].

    Parameters
    ----------
    scalar : `bits` bits.
    bits : 8, 16, 32 or 64.

    Raises
    ------
    TypeError, ValueError : another width; a scalar that does not fit.
    """
    lane = _lane(scalar, bits)
    return np.tile(lane, VECTOR_BYTES // len(lane))


@checked
def extract_broadcast(register: np.ndarray, index: int, *, bits: int) -> np.ndarray:
    """Copy one lane of a register to all of them.

    Parameters
    ----------
    register : uint8 [..., 64].
    index : number of the lane, 32 bits, modulo the number of lanes.
    bits : 8, 16, 32, 64 or 128.

    Raises
    ------
    TypeError, ValueError : another dtype, shape, width or index.
    """
    lane = _picked(register, index, check_choice("bits", bits, BROADCAST_LANE_BITS))
    return np.tile(lane, VECTOR_BYTES // lane.shape[-1])


@checked
def pack_mask(mask: np.ndarray) -> np.ndarray:
    """Return a mask as a scalar register holds it: bit i is lane i.

    Parameters
    ----------
    mask : bool [..., 16], [..., 32] or [..., 64], for example of `vector_op`.

    Returns
    -------
    uint32 [...], an r register; with 64 lanes uint64 [...], an l register.

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """
    check_array("mask", mask, np.bool_)
    if mask.ndim < 1 or mask.shape[-1] not in MASK_LANES:
        raise ValueError(f"mask must have a last axis of {one_of(MASK_LANES)}, not {mask.shape}")
    code = np.uint64 if mask.shape[-1] > SCALAR_BITS else np.uint32
    return np.left_shift(mask.astype(code), np.arange(mask.shape[-1], dtype=code)).sum(axis=-1, dtype=code)


@checked
def unpack_mask(bits: np.ndarray, *, lanes: int) -> np.ndarray:
    """Return bool [..., lanes] of a mask in a scalar register; bits above the last lane are ignored.

    Parameters
    ----------
    bits : uint32 or uint64 of any shape.
    lanes : 16, 32 or 64; 64 only of uint64.

    Raises
    ------
    TypeError, ValueError : another dtype or number of lanes.
    """
    check_array("bits", bits, np.uint32, np.uint64)
    lanes = check_choice("lanes", lanes, [each for each in MASK_LANES if each <= 8 * bits.dtype.itemsize])
    return (bits[..., np.newaxis] >> np.arange(lanes, dtype=bits.dtype) & 1).astype(np.bool_)


def _lane(scalar: int, bits: int) -> np.ndarray:
    """Return the bytes of a scalar."""
    bits = check_choice("bits", bits, SCALAR_LANE_BITS)
    scalar = integer("scalar", scalar, range(1 << bits))
    return np.frombuffer(scalar.to_bytes(bits // 8, "little"), np.uint8)


def _picked(register: np.ndarray, index: int, bits: int) -> np.ndarray:
    """Return the bytes of a lane."""
    check_vector("register", register)
    fields = in_groups(register, bits // 8)
    return fields[..., integer("index", index, INDICES) % fields.shape[-2], :]
