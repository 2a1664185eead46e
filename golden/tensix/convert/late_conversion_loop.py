"""The packers' second conversion, compiled: an intermediate float, an FP32 or FP16 word, to a code of an L1 format."""

from typing import NamedTuple

import numpy as np
from numba import njit

from bitpath.golden.arrays.kernels import piece
from bitpath.golden.tensix.convert.fp8 import E4M3_BIAS, E4M3_LARGEST
from bitpath.golden.tensix.convert.narrow_exponent_loop import narrow_exponent
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, EXPONENT5_FORMATS, Format


class Late(NamedTuple):
    """Fields of the conversion.

    Attributes
    ----------
    narrows : 1 to narrow the exponent, from FP32 to FP16.
    widens : 1 to widen the exponent, from FP16 to FP32.
    flushes : 1 if values with a zero exponent become +0 when the exponent is widened.
    right : shift of the word, with its exponent as it becomes; 0 without `narrows` and `widens` changes nothing.
    exponent : values without any of these bits become a zero of their sign, when the exponent stays.
    sign : their sign bit.
    e4m3 : 1 to convert FP16 to E4M3 last.
    """

    narrows: int = 0
    widens: int = 0
    flushes: int = 0
    right: int = 0
    exponent: int = 0xFFFFFFFF
    sign: int = 0
    e4m3: int = 0


def late_fields(mid_format: Format, out_format: Format, *, e4m3: bool) -> Late:
    """Return the fields for a pair of formats; block floats come of words s | e8 | m7 or s | e5 | m7, E4M3 of FP16."""
    if e4m3:
        return late_fields(mid_format, Format.FP16, e4m3=False)._replace(e4m3=1)
    block = BLOCK_FLOATS.get(out_format)
    to_short = out_format in (Format.FP16, Format.FP8) or (block is not None and block.exponent_bits == 5)
    to_bf16 = out_format is Format.BF16 or (block is not None and block.exponent_bits == 8)
    right = {Format.FP16: 0, Format.FP8: 8}.get(out_format, 3) if to_short else 16 * to_bf16
    if mid_format in EXPONENT5_FORMATS:
        if not to_short:
            return Late(widens=1, flushes=to_bf16, right=right)
        return Late(right=right, exponent=0x7C00, sign=1 << 15) if out_format is Format.FP8 else Late(right=right)
    if to_short:
        return Late(narrows=1, right=right)
    if to_bf16 and mid_format in (Format.FP32, Format.TF32):
        return Late(right=right, exponent=0x7F800000, sign=1 << 31)
    return Late(right=right)


def shifts(late: Late) -> bool:
    """Return True for a conversion that shifts right, and nothing else."""
    return late._replace(right=0) == Late()


@piece
def _shift(value, right, exponent, sign):
    return (value if value & exponent else np.uint32(value & sign)) >> right


@piece
def _widen(value, flushes, right):
    """Convert FP16 to FP32; a zero exponent stays zero, its fraction and sign kept unless flushed."""
    zero = value & 0x7C00 == 0
    wide = np.uint32(value >> 15 << 31 | (value & 0x7FFF) << 13) + np.uint32(0 if zero else 112 << 23)
    return (np.uint32(0) if zero & (flushes != 0) else np.uint32(wide)) >> right


@piece
def _to_e4m3(value):
    """Convert FP16: the fraction truncated, exponents of 0 or less a zero with sign, large values all ones."""
    code = np.int32((value & 0x7FFF) >> 7) - np.int32(E4M3_BIAS << 3)
    code = np.int32(0) if code < 8 else min(code, np.int32(E4M3_LARGEST))
    return np.uint32(value >> 15 << 7 | np.uint32(code))


@njit(inline="always")
def convert_late(values, late):
    """Convert a tile of intermediate floats in place."""
    narrows, widens, flushes, right, exponent, sign, e4m3 = late
    right &= 31
    if narrows:
        for i in range(values.shape[0]):
            values[i] = narrow_exponent(values[i]) >> right
    elif widens:
        for i in range(values.shape[0]):
            values[i] = _widen(values[i], flushes, right)
    elif right:
        for i in range(values.shape[0]):
            values[i] = _shift(values[i], right, exponent, sign)
    if e4m3:
        for i in range(values.shape[0]):
            values[i] = _to_e4m3(values[i])
