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
    numerics = numerics_or_default(numerics, chip)
    datums = _kept(numerics, _source("src_a", src_a), keep_denormals)
    fmt = placed_format(numerics, format_member("srca_format", srca_format), fp32_enabled, int8_math)
    return _to_dst(numerics, dst, datums, fmt, fp32_enabled, low_half)


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
    datums = _kept(numerics, _source("src_b", src_b), keep_denormals) & move_mask(numerics, own)
    fmt = placed_format(numerics, fmt, fp32_enabled, int8_math)
    return _to_dst(numerics, dst, datums[..., :1] if column_0 else datums, fmt, fp32_enabled, low_half)


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
    if fmt is Format.TF32 and (not dst32 or low_half):
        raise ValueError(f"dst32 must be True and low_half False with TF32, not {dst32} and {low_half}")
    if low_half and not dst32:
        raise ValueError("low_half must be False without dst32, not True")
    _check_rows("dst", dst, 32 if dst32 else 16)
    if fmt is Format.TF32:
        return dst >> 13
    layout = DST16_FP16 if fmt in SHORT_FORMATS else DST16_BF16
    if dst32:
        dst = from_physical(dst & 0xFFFF if low_half else to_physical(dst, DST32) >> 16, layout)
    return (dst & 0x8000) << 3 | dst & 0x7FFF if fmt in SHORT_FORMATS else dst << 3


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
    mask = move_mask(numerics, format_member("srcb_format", srcb_format))
    return _kept(numerics, _source("src_b", src_b), keep_denormals) & mask


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
    return np.uint32(((1 << SRC.width) - 1) & ~dropped)


def _check_rows(name: str, words: np.ndarray, bits: int) -> None:
    check_array(name, words, np.uint32)
    check_shape(name, words, "...", "R", COLUMNS)
    check_width(name, words, bits)


def _source(name: str, words: np.ndarray) -> np.ndarray:
    _check_rows(name, words, SRC.width)
    return words


def _kept(numerics: TensixNumerics, words: np.ndarray, keep_denormals: bool) -> np.ndarray:
    """Return source words, zero where the exponent is 0 unless these are kept."""
    keeps = keep_denormals or numerics.zero_flag_disabled
    return words.copy() if keeps else np.where(words & EXPONENT, words, np.uint32(0))


def _to_dst(
    numerics: TensixNumerics, dst: np.ndarray, datums: np.ndarray, fmt: Format, fp32_enabled: bool, low_half: bool
) -> np.ndarray:
    """Place source words in Dst rows."""
    follows = fp32_enabled and numerics.moves_follow_fp32
    wide = fmt is Format.TF32 or follows
    if wide and low_half:
        raise ValueError(f"low_half must be False with {'Fp32_enabled' if follows else 'TF32'}, not True")
    _check_rows("dst", dst, 32)
    shape = check_broadcast(dst=dst.shape, source=datums.shape)
    if shape != dst.shape:
        raise ValueError(f"dst must have the shape of the moved rows, {shape}, not {dst.shape}")
    layout = DST16_FP16 if fmt in SHORT_FORMATS else DST16_BF16
    if wide:
        words = datums << 13
    elif fmt in SHORT_FORMATS:
        words = (datums & 1 << 18) >> 3 | datums & 0x7FFF
    else:
        words = datums >> 3
    if low_half:
        words = dst & 0xFFFF0000 | to_physical(words, layout)
    return np.broadcast_to(words, shape).astype(np.uint32)
