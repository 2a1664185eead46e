"""Shuffles, also of MX registers, and vector shifts.

Ref: AM027, Vector Unit; llvm-aie for the modes and for the shuffles of BFP640 and BFP768.
"""

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import (
    LANE_BITS,
    MX_FORMS,
    SHUFFLE_CODES,
    SHUFFLE_MODES,
    VECTOR_BITS,
    Half,
    ShuffleMode,
)
from bitpath.golden.aie_ml_v2.operands.axes import in_groups
from bitpath.golden.aie_ml_v2.operands.layout import MxRegisters
from bitpath.golden.arrays.arguments import check_array, check_broadcast, check_choice, checked, integer

VECTOR_BYTES = VECTOR_BITS // 8
MX_FIELD_BITS = 64
"""Bits of data that one byte of E and one of G belong to."""


@checked
def shuffle(low: np.ndarray, high: np.ndarray | None = None, *, mode: ShuffleMode | int | str) -> np.ndarray:
    """Permute the fields of one register or two.

    Parameters
    ----------
    low, high : uint8 [..., 64], byte 0 lowest; `high` for the modes of 1024 bits.
    mode : a `ShuffleMode`, or a known code or name, for example 54 or "T16_8x8_lo".

    Returns
    -------
    uint8 [..., 64].

    Raises
    ------
    TypeError, ValueError : another mode, dtype or shape; `high` missing or too many; fields that fill no register.
    """
    mode = _mode(mode)
    _check_vector("low", low)
    if high is not None:
        _check_vector("high", high)
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
    _check_vector("low", low)
    high = np.zeros_like(low) if high is None else high
    _check_vector("high", high)
    check_broadcast(low=low.shape[:-1], high=high.shape[:-1])
    count = integer("count", count, range(VECTOR_BYTES + 1))
    return np.concatenate(np.broadcast_arrays(low, high), axis=-1)[..., count : count + VECTOR_BYTES]


@checked
def push(register: np.ndarray, scalar: int, *, bits: int, at_top: bool = False) -> np.ndarray:
    """Move a register by one lane, and put a scalar into the lowest lane, or the highest with `at_top`.

    Parameters
    ----------
    register : uint8 [..., 64].
    scalar : `bits` bits.
    bits : 8, 16 or 32.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or width; a scalar that does not fit.
    """
    _check_vector("register", register)
    bits = check_choice("bits", bits, LANE_BITS)
    scalar = integer("scalar", scalar, range(1 << bits))
    lane = np.frombuffer(int(scalar).to_bytes(bits // 8, "little"), np.uint8)
    lane = np.broadcast_to(lane, (*register.shape[:-1], bits // 8))
    if at_top:
        return np.concatenate([register[..., bits // 8 :], lane], axis=-1)
    return np.concatenate([lane, register[..., : VECTOR_BYTES - bits // 8]], axis=-1)


def _mode(mode: ShuffleMode | int | str) -> ShuffleMode:
    if isinstance(mode, str):
        check_choice("mode", mode, SHUFFLE_MODES)
        return SHUFFLE_MODES[mode]
    if not isinstance(mode, ShuffleMode):
        check_choice("mode", mode, SHUFFLE_CODES)
        return SHUFFLE_CODES[mode]
    size = VECTOR_BITS * (1 if mode.half is None else 2)
    covered = mode.bits * mode.rows * mode.cols
    if mode.bits % 8 or covered > size or size % covered or (covered != size and not mode.flip):
        raise ValueError(f"mode must have fields of whole bytes that fill {size} bits, not be {mode.name}")
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


def _check_vector(name: str, vector: np.ndarray) -> None:
    check_array(name, vector, np.uint8)
    if vector.ndim < 1 or vector.shape[-1] != VECTOR_BYTES:
        raise ValueError(f"{name} must have shape [..., {VECTOR_BYTES}], not {vector.shape}")
