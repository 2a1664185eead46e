"""Moves between scalars and the lanes of a vector register, and masks of lanes as scalars.

Ref: AM027, Vector Unit; llvm-aie for the widths. Points that they leave open are listed in
`bitpath.golden.aie_ml_v2.declarations.choices.CHOICES`.
"""

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import MX_FORMS, VECTOR_BITS
from bitpath.golden.aie_ml_v2.declarations.mover import (
    BROADCAST_LANE_BITS,
    MASK_LANES,
    SCALAR_BITS,
    SCALAR_LANE_BITS,
    SHUFFLE_CODES,
    SHUFFLE_MODES,
    Half,
    ShuffleMode,
)
from bitpath.golden.aie_ml_v2.operands.arguments import in_groups
from bitpath.golden.aie_ml_v2.operands.layout import MxRegisters
from bitpath.golden.arrays.arguments import (
    check_array,
    check_broadcast,
    check_choice,
    check_shape,
    checked,
    integer,
    one_of,
)

# A vector register: 512 bits as 64 bytes, byte 0 lowest.


VECTOR_BYTES = VECTOR_BITS // 8


def check_vector(name: str, vector: np.ndarray) -> None:
    """Raise unless an array is uint8 [..., 64]."""
    check_array(name, vector, np.uint8)
    check_shape(name, vector, "...", VECTOR_BYTES)


# Shuffles, also of MX registers, and shifts by bytes.
#
# Ref: AM027, Vector Unit; llvm-aie for the modes and for the shuffles of BFP640 and BFP768.


MX_FIELD_BITS = 64
"""Bits of data that one byte of E and one of G belong to."""


@checked
def shuffle(low: np.ndarray, high: np.ndarray | None = None, *, mode: ShuffleMode | int | str) -> np.ndarray:
    """Permute the fields of one register or two. A matrix smaller than the register repeats over it, block by block.

    Parameters
    ----------
    low, high : uint8 [..., 64], byte 0 lowest; `high` for the modes of 1024 bits.
    mode : a `ShuffleMode`, or one of the 58 codes or names, for example 54 or "T16_8x8_lo".

    Returns
    -------
    uint8 [..., 64].

    Raises
    ------
    TypeError, ValueError : another mode, dtype or shape; `high` missing or too many; fields that fill no register.
    """
    mode = _mode(mode)
    check_vector("low", low)
    if high is not None:
        check_vector("high", high)
    return _shuffle(low, high, mode)


@checked
def shuffle_mx(low: MxRegisters, high: MxRegisters | None = None, *, mode: ShuffleMode | int | str) -> MxRegisters:
    """Permute MX registers: exponents, shifts and sign bits move with the data.

    Parameters
    ----------
    low, high : registers with 512 bits of data: 64 elements of MX9, 128 of MX6 or MX4; `high` as in `shuffle`.
    mode : mode of fields of 64 bits at least, which hold whole shares of exponents.

    Raises
    ------
    TypeError, ValueError : another mode or size, or registers of two formats.
    """
    mode = _mode(mode)
    if mode.bits < MX_FIELD_BITS:
        raise ValueError(f"mode must have fields of {MX_FIELD_BITS} bits or more for MX, not be {mode.name}")
    for name, registers in (("low", low), ("high", high)):
        if registers is not None and registers.data.shape[-1] != VECTOR_BYTES:
            raise ValueError(f"{name} must have {VECTOR_BYTES} bytes of data, not {registers.data.shape[-1]}")
    if high is not None and high.fmt != low.fmt:
        raise ValueError(f"high must be in low's format {low.fmt.name}, not in {high.fmt.name}")
    parts = {
        name: _shuffle(getattr(low, name), None if high is None else getattr(high, name), mode)
        for name in ("data", "f", "g", "e")
        if name != "f" or MX_FORMS[low.fmt].msb_bits
    }
    return MxRegisters(low.fmt, **{"f": low.f} | parts)


@checked
def vector_shift(low: np.ndarray, high: np.ndarray | None = None, *, count: int) -> np.ndarray:
    """Return 64 bytes of two registers from byte `count` of the lower one on; `high` None is zeros.

    Parameters
    ----------
    low, high : uint8 [..., 64], byte 0 lowest.
    count : 0 to 64.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or count.
    """
    check_vector("low", low)
    high = np.zeros_like(low) if high is None else high
    check_vector("high", high)
    check_broadcast(low=low.shape[:-1], high=high.shape[:-1])
    count = integer("count", count, range(VECTOR_BYTES + 1))
    return np.concatenate(np.broadcast_arrays(low, high), axis=-1)[..., count : count + VECTOR_BYTES]


def _mode(mode: ShuffleMode | int | str) -> ShuffleMode:
    if isinstance(mode, str):
        check_choice("mode", mode, SHUFFLE_MODES)
        return SHUFFLE_MODES[mode]
    if not isinstance(mode, ShuffleMode):
        check_choice("mode", mode, SHUFFLE_CODES)
        return SHUFFLE_CODES[mode]
    size = VECTOR_BITS * (1 if mode.half is None else 2)
    covered = mode.bits * mode.rows * mode.cols
    if covered <= 0 or mode.bits % 8 or size % covered:
        raise ValueError(
            f"mode must have fields of whole bytes and a matrix that divides {size} bits, not be {mode.name}"
        )
    return mode


def _shuffle(low: np.ndarray, high: np.ndarray | None, mode: ShuffleMode) -> np.ndarray:
    """Permute registers of any size, fields being in proportion."""
    if (high is None) != (mode.half is None):
        given, needed = ("None", "a register") if high is None else ("given", "None")
        raise ValueError(f"high must be {needed} with mode {mode.name}, not {given}")
    if high is not None:
        check_broadcast(low=low.shape[:-1], high=high.shape[:-1])
    source = low if high is None else np.concatenate(np.broadcast_arrays(low, high), axis=-1)
    width = low.shape[-1]
    fields = in_groups(source, mode.bits * width // VECTOR_BITS)
    count, size = fields.shape[-2:]
    grid = fields.reshape(*source.shape[:-1], count // (mode.rows * mode.cols), mode.rows, mode.cols, size)
    grid = grid[..., ::-1, :] if mode.flip else grid.swapaxes(-3, -2)
    out = grid.reshape(source.shape)
    return out[..., width:].copy() if mode.half is Half.HI else out[..., :width].copy()


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
