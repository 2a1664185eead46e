"""Stores of RISC-V cores to Dst, which Blackhole's cores can address, with the bug of its signed bytes::

    INT8, 0x80 and above: magnitude = (0x180 - value - (value == 0x80)) mod 256, though -value was meant

Ref: tt-isa-documentation 3930471, Blackhole's Dst, RISCV access to Dst, which documents the bug.
"""

from enum import IntEnum

import numpy as np

from bitpath.golden.arrays.arguments import check_array, checked
from bitpath.golden.tensix.declarations.formats import DST16_BF16, DST16_FP16, DST32
from bitpath.golden.tensix.operands.arguments import numbered_member
from bitpath.golden.tensix.operands.registers import from_physical


class RiscvFormat(IntEnum):
    """Shapes of the cores' view of Dst, by RISC_DEST_ACCESS_CTRL's fmt."""

    FP32 = 0
    INT32 = 1
    FP16 = 2
    BF16 = 3
    INT16 = 4
    INT8 = 5


WIDTHS = {
    RiscvFormat.FP32: np.uint32,
    RiscvFormat.INT32: np.uint32,
    RiscvFormat.FP16: np.uint16,
    RiscvFormat.BF16: np.uint16,
    RiscvFormat.INT16: np.uint16,
    RiscvFormat.INT8: np.uint8,
}
"""Types of the values that a store takes."""
LAYOUTS = {
    RiscvFormat.FP32: DST32,
    RiscvFormat.INT32: DST32,
    RiscvFormat.FP16: DST16_FP16,
    RiscvFormat.BF16: DST16_BF16,
}
INTEGER_EXPONENT = 16 << 10


@checked
def riscv_store(
    values: np.ndarray, format: RiscvFormat | int | str, *, no_swizzle: bool = False, unsigned_int: bool = False
) -> np.ndarray:
    """Return the Dst words that a store of values writes.

    ===========  ==================================================================================
    fmt          word
    ===========  ==================================================================================
    FP32         the value
    INT32        two's complement as sign and magnitude; the least integer saturates to the largest magnitude
    FP16, BF16   the value
    INT16        as INT32; the value with `unsigned_int`
    INT8         magnitude at exponent 16, or 0: the value to 0x7F, and above with `unsigned_int`;
                 else sign and the bug's magnitude of 8 bits
    ===========  ==================================================================================

    Parameters
    ----------
    values : uint32, uint16 or uint8 of any shape, by `WIDTHS`: the bits that the core stores.
    format : a `RiscvFormat`, its number or its name.
    no_swizzle : the bits of FP32, INT32, FP16 and BF16 are in the register's order, and no integer is converted.
    unsigned_int : INT16 and INT8 are unsigned; the others do not look at it.

    Returns
    -------
    uint32 of the same shape: logical words of 32 or 16 bits; those of INT16 in the register's order, those of INT8 as FP16's.

    Raises
    ------
    TypeError, ValueError : another dtype or format.
    """
    fmt = numbered_member("format", format, RiscvFormat)
    check_array("values", values, WIDTHS[fmt])
    words = values.astype(np.uint32)
    if fmt in LAYOUTS and no_swizzle:
        return from_physical(words, LAYOUTS[fmt])
    if fmt is RiscvFormat.INT8:
        return _int8(words, signed=not (no_swizzle or unsigned_int))
    if fmt is RiscvFormat.INT32 or (fmt is RiscvFormat.INT16 and not (no_swizzle or unsigned_int)):
        sign = np.uint32(1 << 8 * values.itemsize - 1)
        return np.where(words < sign, words, sign | (~words + np.uint32(1) - (words == sign)) & sign - np.uint32(1))
    return words


def _int8(words: np.ndarray, *, signed: bool) -> np.ndarray:
    magnitude = np.where(words, words | INTEGER_EXPONENT, np.uint32(0))
    if not signed:
        return magnitude
    wrong = (0x180 - words - (words == 0x80)) & 0xFF
    return np.where(words < 0x80, magnitude, 1 << 15 | INTEGER_EXPONENT | wrong).astype(np.uint32)
