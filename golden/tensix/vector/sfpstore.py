"""SFPSTORE: a lane's 32 bits as a word of Dst, by the instruction's mode.

Ref: tt-isa-documentation 3930471, SFPSTORE of both chips; ttsim v1.10.0 for FP32 denormals on Wormhole.
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_array, checked
from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.formats import DST32
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.operands.arguments import numbered_member, numerics_or_default
from bitpath.golden.tensix.operands.words import from_physical
from bitpath.golden.tensix.vector.modes import StoreMode

WIDE_MODES = (
    StoreMode.FP32,
    StoreMode.INT32,
    StoreMode.HI16,
    StoreMode.LO16,
    StoreMode.INT32_ALL,
    StoreMode.INT32_SM,
)
"""Modes that write 32-bit words."""
SIGN, INTEGER_EXPONENT = 1 << 31, 16 << 10
REBIAS = 127 - 15


@checked
def sfpstore(
    lanes: np.ndarray,
    mode: StoreMode | int | str,
    *,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """Return the Dst words of lanes; lane l goes to row l // 8 of four rows, and to column 2 * (l % 8) or the one after it.

    =================  ================================================================================
    mode               word
    =================  ================================================================================
    FP16               FP16, truncated; exponents too small give a signed zero, too large 0x7FFF
    BF16               the upper 16 bits; denormals give a signed zero
    FP32               the lane; denormals give a signed zero by `numerics.sfpstore_flush`
    INT32, INT32_ALL   the lane
    INT32_SM           the lane, or its two's complement as sign and magnitude
    INT8, INT8_COMP    sign and 10 magnitude bits with the exponent 16; of INT8_COMP perhaps two's complement
    INT16              sign and 15 magnitude bits (*)
    UINT16, LO16_ONLY  the lower 16 bits (*)
    HI16_ONLY          the upper 16 bits (*)
    HI16               the lane as the register holds it, in the logical order
    LO16               the same with both halves exchanged
    ZERO               0
    =================  ================================================================================

    Parameters
    ----------
    lanes : uint32 of any shape.
    mode : a `StoreMode`, its number or its name.
    numerics, chip : one of both, or neither: None is `WORMHOLE`'s; a chip stands for its preset's.

    Returns
    -------
    uint32 of the same shape: logical words of 32 bits for `WIDE_MODES`, else of 16; those of (*) in the register's order.

    Raises
    ------
    TypeError, ValueError : another dtype or mode.
    """
    numerics = numerics_or_default(numerics, chip)
    check_array("lanes", lanes, np.uint32)
    match numbered_member("mode", mode, StoreMode):
        case StoreMode.FP16:
            return _to_fp16(lanes)
        case StoreMode.BF16:
            return _flushed(lanes) >> 16
        case StoreMode.FP32 if numerics.sfpstore_flush:
            return _flushed(lanes)
        case StoreMode.INT32_SM if numerics.sfpu_sign_magnitude:
            return _sign_magnitude(lanes)
        case StoreMode.INT8_COMP if numerics.sfpu_sign_magnitude:
            return _int8(_sign_magnitude(lanes))
        case StoreMode.INT8 | StoreMode.INT8_COMP:
            return _int8(lanes)
        case StoreMode.INT16:
            return lanes >> 31 << 15 | lanes & 0x7FFF
        case StoreMode.UINT16 | StoreMode.LO16_ONLY:
            return lanes & 0xFFFF
        case StoreMode.HI16_ONLY:
            return lanes >> 16
        case StoreMode.HI16:
            return from_physical(lanes, DST32)
        case StoreMode.LO16:
            return from_physical(lanes << 16 | lanes >> 16, DST32)
        case StoreMode.ZERO:
            return np.zeros_like(lanes)
    return lanes.copy()


def _flushed(lanes: np.ndarray) -> np.ndarray:
    return np.where(lanes & 0x7F800000, lanes, lanes & SIGN).astype(np.uint32)


def _to_fp16(lanes: np.ndarray) -> np.ndarray:
    exponent = (lanes >> 23 & 0xFF).astype(np.int64) - REBIAS
    code = np.where(exponent > 31, 0x7FFF, exponent << 10 | lanes >> 13 & 0x3FF)
    return (lanes >> 31 << 15 | np.where(exponent <= 0, 0, code)).astype(np.uint32)


def _sign_magnitude(lanes: np.ndarray) -> np.ndarray:
    """Convert two's complement; the least integer becomes -0."""
    magnitude = np.where(lanes & SIGN, ~lanes + np.uint32(1), lanes)
    return (lanes & SIGN | magnitude & (SIGN - 1)).astype(np.uint32)


def _int8(lanes: np.ndarray) -> np.ndarray:
    return lanes >> 31 << 15 | lanes & 0x3FF | INTEGER_EXPONENT
