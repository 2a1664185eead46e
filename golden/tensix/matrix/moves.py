"""Moves between SrcA, SrcB and Dst: MOVA2D, MOVB2D, MOVD2A, MOVD2B, MOVB2A and TRNSPSRCB, on the rows that they move.

A datum keeps its bits, but for those that its target lacks::

    TF32 to Dst         s | e8 | m10 | 13 zeros, 32 bits
    5 exponent bits     s | e5 | m10, 16 bits
    others              s | e8 | m7, 16 bits
    low half            the same 16 bits, in the register's order, in the lower half of a 32-bit word

With Fp32_enabled or INT8_math_enabled a datum of 5 exponent bits is moved to Dst as the others are, where
`numerics.moves_widen_exponent` says so.

Ref: tt-isa-documentation, MOVA2D, MOVB2D, MOVD2A, MOVD2B, MOVB2A and TRNSPSRCB, masks since commit 88d4bf9; ttsim v1.10.0.
"""

from collections.abc import Callable

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_broadcast, check_shape, checked
from bitpath.golden.tensix.declarations.formats import (
    COLUMNS,
    DST16_BF16,
    DST16_FP16,
    DST32,
    EXPONENT5_FORMATS,
    SRC,
    Chip,
    Format,
)
from bitpath.golden.tensix.declarations.numerics import MoveMasking, TensixNumerics
from bitpath.golden.tensix.operands.arguments import check_width, format_member, numerics_or_default
from bitpath.golden.tensix.operands.registers import from_physical, to_physical

SHORT_FORMATS = (*EXPONENT5_FORMATS, Format.INT8)
"""Formats whose datums are words of 5 exponent bits in a 16-bit Dst."""
EXPONENT = 0xFF << 10
HIGH_EXPONENT, LOW_FRACTION = 0b111 << 15, 0b111
"""Bits of a source word that FP16 and that BF16 lacks."""
SIGN = 1 << 18
ALL_BITS, NOTHING = np.uint32((1 << SRC.width) - 1), np.uint32(0)


@checked
def mova2d(
    dst: np.ndarray,
    src_a: np.ndarray,
    *,
    srca_format: Format | int | str,
    fp32_enabled: bool = False,
    int8_math: bool = False,
    low_half: bool = False,
    keep_denormals: bool = False,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """MOVA2D: return Dst rows with SrcA's datums; an exponent of 0 makes a datum +0.

    Parameters
    ----------
    dst : uint32 [..., R, 16], the rows before; `low_half` reads their upper halves.
    src_a : uint32 [..., R, 16] logical words, or one row, which goes to all rows.
    srca_format : format of SrcA, which says how Dst holds the datums.
    fp32_enabled : True if Dst has 32-bit rows; on Blackhole all formats then make words as TF32 does.
    int8_math : True with ALU_ACC_CTRL_INT8_math_enabled.
    low_half : True if 16-bit datums go to the lower halves of 32-bit words; not with TF32, on Blackhole nor with `fp32_enabled`.
    keep_denormals : True with ALU_ACC_CTRL_Zero_Flag_disabled_src.
    numerics, chip : one of both, or neither: None is `WORMHOLE`'s; a chip stands for its preset's.

    Returns
    -------
    uint32 of the common shape: words of 32 bits for TF32, with `low_half`, or with `fp32_enabled` on Blackhole; else of 16.

    Raises
    ------
    TypeError, ValueError : other dtypes, shapes or formats; words too wide; `low_half` where words have 32 bits.
    """
    numerics, src_a = numerics_or_default(numerics, chip), _source("src_a", src_a)
    formats = format_member("srca_format", srca_format), None
    settings = fp32_enabled, int8_math, low_half, keep_denormals
    return _moved(dst, src_a, to_dst_of(numerics, formats, False, *settings))


@checked
def movb2d(
    dst: np.ndarray,
    src_b: np.ndarray,
    *,
    srca_format: Format | int | str,
    srcb_format: Format | int | str | None = None,
    column_0: bool = False,
    fp32_enabled: bool = False,
    int8_math: bool = False,
    low_half: bool = False,
    keep_denormals: bool = False,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """MOVB2D: return Dst rows with SrcB's datums; an exponent of 0 makes a datum +0.

    Parameters and results are those of `mova2d`, and these:

    Parameters
    ----------
    src_b : uint32 [..., R, 16] logical words, or one row, which goes to all rows.
    srca_format : format of SrcA (SrcB's where a bank implies it), which says how Dst holds the datums.
    srcb_format : format of SrcB, which masks them by `numerics.move_masking`; None is `srca_format`.
    column_0 : True if each row's column 0 goes to all columns.

    Raises
    ------
    TypeError, ValueError : as `mova2d`.
    """
    numerics = numerics_or_default(numerics, chip)
    fmt = format_member("srca_format", srca_format)
    own = fmt if srcb_format is None else format_member("srcb_format", srcb_format)
    settings = fp32_enabled, int8_math, low_half, keep_denormals
    return _moved(dst, _source("src_b", src_b), to_dst_of(numerics, (fmt, own), column_0, *settings))


@checked
def movd2a(dst: np.ndarray, *, srca_format: Format | int | str, dst32: bool, low_half: bool = False) -> np.ndarray:
    """MOVD2A: return Dst rows as words of SrcA; nothing is flushed.

    Parameters
    ----------
    dst : uint32 [..., R, 16] words of 32 bits with `dst32`, else BF16, or FP16 for a format with 5 exponent bits.
    srca_format : format of the source. TF32 takes a word's upper 19 bits and needs `dst32`; all others its upper 16.
    low_half : True if the lower 16 bits are taken, in the register's order; needs `dst32`, and not with TF32.

    Returns
    -------
    uint32 [..., R, 16] logical source words.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or format; words too wide; widths that do not fit.
    """
    fmt = format_member("srca_format", srca_format)
    operation = from_dst_of(numerics_or_default(None, None), fmt, dst32, low_half)
    _check_rows("dst", dst, 32 if dst32 else 16)
    return operation(dst)


movd2b = movd2a
"""MOVD2B: as MOVD2A, to SrcB; `srca_format` is SrcB's where a bank implies it."""


@checked
def movb2a(
    src_b: np.ndarray,
    *,
    srcb_format: Format | int | str,
    keep_denormals: bool = False,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """MOVB2A: return SrcB rows as words of SrcA; an exponent of 0 makes a datum +0.

    Parameters are those of `movb2d`; `src_b` and the result are uint32 [..., R, 16].

    Raises
    ------
    TypeError, ValueError : another dtype, shape or format; words too wide.
    """
    numerics = numerics_or_default(numerics, chip)
    operation = to_src_a_of(numerics, format_member("srcb_format", srcb_format), keep_denormals)
    return operation(_source("src_b", src_b))


@checked
def trnspsrcb(src_b: np.ndarray) -> np.ndarray:
    """TRNSPSRCB: exchange row and column of SrcB rows 16 to 31, uint32 [..., 16, 16]; all 19 bits stay.

    Raises
    ------
    TypeError, ValueError : another dtype or shape; words too wide.
    """
    check_shape("src_b", _source("src_b", src_b), "...", COLUMNS, COLUMNS)
    return src_b.swapaxes(-1, -2).copy()


def placed_format(numerics: TensixNumerics, fmt: Format, fp32_enabled: bool, int8_math: bool) -> Format:
    """Return the format by which MOVA2D and MOVB2D place a datum of SrcA's format in Dst."""
    widens = numerics.moves_widen_exponent and (fp32_enabled or int8_math)
    return Format.BF16 if widens and fmt in SHORT_FORMATS else fmt


def move_mask(numerics: TensixNumerics, fmt: Format) -> np.uint32:
    """Return the bits of a SrcB datum that MOVB2D and MOVB2A keep."""
    dropped = 0
    if numerics.move_masking is MoveMasking.OWN_FORMAT:
        dropped |= HIGH_EXPONENT if fmt in SHORT_FORMATS else 0
        full = (Format.TF32, Format.FP16, Format.FP8, Format.BFP8A, Format.INT8)
        dropped |= 0 if fmt in full else LOW_FRACTION
    return np.uint32(int(ALL_BITS) & ~dropped)


def _check_rows(name: str, words: np.ndarray, bits: int) -> None:
    check_array(name, words, np.uint32)
    check_shape(name, words, "...", "R", COLUMNS)
    check_width(name, words, bits)


def _source(name: str, words: np.ndarray) -> np.ndarray:
    _check_rows(name, words, SRC.width)
    return words


def _moved(dst: np.ndarray, source: np.ndarray, operation: Callable[..., np.ndarray]) -> np.ndarray:
    """Return an operation of `to_dst_of` on rows that are checked here."""
    _check_rows("dst", dst, 32)
    shape = check_broadcast(dst=dst.shape, source=source.shape)
    if shape != dst.shape:
        raise ValueError(f"dst must have the shape of the moved rows, {shape}, not {dst.shape}")
    return operation(dst, source).copy()


# The operations with their settings, on rows that are not checked.


def to_dst_of(
    numerics: TensixNumerics,
    formats: tuple[Format, Format | None],
    column_0: bool,
    fp32_enabled: bool,
    int8_math: bool,
    low_half: bool,
    keep_denormals: bool,
) -> Callable[..., np.ndarray]:
    """Return MOVA2D, or with a format of SrcB MOVB2D: a function of Dst rows, whose words count with `low_half` alone, and source
    rows; the result may be read-only.

    Raises
    ------
    ValueError : `low_half` where words have 32 bits.
    """
    follows = fp32_enabled and numerics.moves_follow_fp32
    fmt = placed_format(numerics, formats[0], fp32_enabled, int8_math)
    wide, short = fmt is Format.TF32 or follows, fmt in SHORT_FORMATS
    if wide and low_half:
        raise ValueError(f"low_half must be False with {'Fp32_enabled' if follows else 'TF32'}, not True")
    mask = ALL_BITS if formats[1] is None else move_mask(numerics, formats[1])
    flushes = not (keep_denormals or numerics.zero_flag_disabled)
    layout = DST16_FP16 if short else DST16_BF16

    def to_dst(dst: np.ndarray, source: np.ndarray) -> np.ndarray:
        datums = _kept(source, flushes) & mask
        if column_0:
            datums = datums[..., :1]
        if wide:
            words = datums << 13
        elif short:
            words = (datums & SIGN) >> 3 | datums & 0x7FFF
        else:
            words = datums >> 3
        if low_half:
            words = dst & 0xFFFF0000 | to_physical(words, layout)
        return words if words.shape == dst.shape else np.broadcast_to(words, dst.shape)

    return to_dst


def from_dst_of(_: TensixNumerics, fmt: Format, dst32: bool, low_half: bool) -> Callable[..., np.ndarray]:
    """Return MOVD2A, and MOVD2B: a function of Dst rows.

    Raises
    ------
    ValueError : widths that do not fit.
    """
    if fmt is Format.TF32 and (not dst32 or low_half):
        raise ValueError(f"dst32 must be True and low_half False with TF32, not {dst32} and {low_half}")
    if low_half and not dst32:
        raise ValueError("low_half must be False without dst32, not True")
    short = fmt in SHORT_FORMATS
    layout = DST16_FP16 if short else DST16_BF16

    def from_dst(dst: np.ndarray) -> np.ndarray:
        if fmt is Format.TF32:
            return dst >> 13
        if dst32 and (low_half or short):
            dst = from_physical(dst & 0xFFFF if low_half else to_physical(dst, DST32) >> 16, layout)
        elif dst32:
            # In both orders the upper half of a word is a BF16 word.
            dst = dst >> 16
        return (dst & 0x8000) << 3 | dst & 0x7FFF if short else dst << 3

    return from_dst


def to_src_a_of(numerics: TensixNumerics, fmt: Format, keep_denormals: bool) -> Callable[..., np.ndarray]:
    """Return MOVB2A: a function of SrcB rows."""
    mask, flushes = move_mask(numerics, fmt), not (keep_denormals or numerics.zero_flag_disabled)
    return lambda source: _kept(source, flushes) & mask


def _kept(words: np.ndarray, flushes: bool) -> np.ndarray:
    """Return source words, zero where the exponent is 0 and flushed."""
    return np.where(words & EXPONENT, words, NOTHING) if flushes else words
