"""Shuffles, also of MX registers, and shifts by bytes.

Ref: AM027, Vector Unit; llvm-aie for the modes and for the shuffles of BFP640 and BFP768.
"""

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import MX_FORMS, VECTOR_BITS
from bitpath.golden.aie_ml_v2.declarations.mover import SHUFFLE_CODES, SHUFFLE_MODES, Half, ShuffleMode
from bitpath.golden.aie_ml_v2.operands.axes import in_groups
from bitpath.golden.aie_ml_v2.operands.layout import MxRegisters
from bitpath.golden.aie_ml_v2.operands.vector import VECTOR_BYTES, check_vector
from bitpath.golden.arrays.arguments import check_broadcast, check_choice, checked, integer

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
