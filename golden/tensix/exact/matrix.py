"""Moves between registers and pooling on scalars."""

from collections.abc import Sequence

from bitpath.golden.scalar.checked import check_length, checked
from bitpath.golden.tensix.declarations.formats import COLUMNS, Format, Style
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, GmpoolFp16, MoveMasking, TensixNumerics

# Moves between SrcA, SrcB and Dst on single datums.
#
# Ref: tt-isa-documentation, MOVA2D, MOVB2D, MOVD2A, MOVB2A, masks since commit 88d4bf9; ttsim v1.10.0.


FIVE_BITS = {Format.FP16, Format.FP8, Format.BFP8A, Format.BFP4A, Format.BFP2A, Format.INT8}
TEN_BITS = {Format.TF32, Format.FP16, Format.FP8, Format.BFP8A, Format.INT8}
"""Formats of 5 exponent bits, and of more than 7 fraction bits, in a source."""


@checked
def moved_source(
    numerics: TensixNumerics, word: int, *, srcb_format: Format | None = None, keep_denormals: bool = False
) -> int:
    """Return a source word as a move reads it; MOVB2D and MOVB2A, which have a `srcb_format`, mask it."""
    sign, exponent, fraction = word >> 18, word >> 10 & 0xFF, word & 0x3FF
    if exponent == 0 and not (keep_denormals or numerics.zero_flag_disabled):
        return 0
    if srcb_format is not None and numerics.move_masking is MoveMasking.OWN_FORMAT:
        exponent %= 32 if srcb_format in FIVE_BITS else 256
        fraction -= 0 if srcb_format in TEN_BITS else fraction % 8
    return sign << 18 | exponent << 10 | fraction


@checked
def dst_word(
    numerics: TensixNumerics,
    datum: int,
    fmt: Format,
    *,
    old: int,
    fp32_enabled: bool = False,
    int8_math: bool = False,
    low_half: bool = False,
) -> int:
    """Return the Dst word of `moved_source`'s result; with `low_half` the upper half is that of the old word."""
    sign, exponent, fraction = datum >> 18, datum >> 10 & 0xFF, datum & 0x3FF
    if fmt is Format.TF32 or (fp32_enabled and numerics.moves_follow_fp32):
        return sign << 31 | exponent << 23 | fraction << 13
    if fmt in FIVE_BITS and not (numerics.moves_widen_exponent and (fp32_enabled or int8_math)):
        exponent %= 32
        if low_half:
            return old >> 16 << 16 | sign << 15 | fraction << 5 | exponent
        return sign << 15 | exponent << 10 | fraction
    if low_half:
        return old >> 16 << 16 | sign << 15 | fraction // 8 << 8 | exponent
    return sign << 15 | exponent << 7 | fraction // 8


@checked
def source_word(word: int, fmt: Format, *, dst32: bool, low_half: bool = False) -> int:
    """Return the source word that MOVD2A and MOVD2B make of a Dst word."""
    if fmt is Format.TF32:
        return word >> 13
    sign, exponent, fraction = word >> 15 & 1, word >> 7 & 0xFF, word & 0x7F
    if dst32:
        if low_half:
            fraction, exponent = word >> 8 & 0x7F, word & 0xFF
        else:
            sign, exponent, fraction = word >> 31, word >> 23 & 0xFF, word >> 16 & 0x7F
        if fmt in FIVE_BITS:
            # The register has the fraction above the exponent.
            return sign << 18 | exponent % 32 << 10 | fraction << 3 | exponent // 32
    elif fmt in FIVE_BITS:
        return sign << 18 | (word >> 10 & 0x1F) << 10 | word & 0x3FF
    return sign << 18 | exponent << 10 | fraction << 3


# GMPOOL on scalars: the maximum of one SrcA column and one Dst word, and its position in the column.
#
# Ref: tt-isa-documentation, GMPOOL.


ORDER = (*range(4, 8), *range(4), *range(8, 16))
"""Rows of SrcA in the order of their comparisons: of equal datums the last one wins."""
INDEXED_ROWS = 8


@checked
def maximum(
    dst: int,
    scales: Sequence[int],
    column: Sequence[int],
    *,
    style: Style,
    dst32: bool,
    argmax: bool = False,
    numerics: TensixNumerics = WORMHOLE.numerics,
) -> int:
    """Return the new Dst word: the maximum of `dst` and 16 SrcA words, each scaled by the exponent of a SrcB word.

    With `argmax`, which needs `dst32`, the word holds an index in its low 12 bits, and for BF16 and FP16 the maximum in
    its upper half; for TF32 and INT8 the word is compared as an integer, and the index alone is returned.
    """
    check_length("scales", scales, COLUMNS)
    check_length("column", column, COLUMNS)
    widens = style is Style.FP16 and dst32 and not argmax
    bias = 15 if style is Style.FP16 and not widens else 127
    # Two biases of 15 become one of FP32, beside the second bias that all magnitudes have here.
    added = 127 - 30 + 127 if widens and numerics.gmpool_fp16 is GmpoolFp16.REBIAS else 0
    integer = style is Style.INT8 or (argmax and style is Style.TF32)
    half = not dst32 or (argmax and not integer)
    if integer:
        sign, best = dst >> 31, dst & 0x7FFFF
    else:
        width, dropped = (16, 0) if half else (32, 13)
        word = dst >> 16 if dst32 and half else dst
        sign = word >> width - 1
        best = (word & (1 << width - 1) - 1) >> dropped
        best = (best << 3 if style is not Style.FP16 and half else best) + (bias << 10)
    phase, index = next_index_phase(dst), dst & 0xFF
    for row in ORDER:
        word = column[row]
        exponent, scale = word >> 10 & 0xFF, scales[row] >> 10 & 0xFF
        fraction = word & (0x3F8 if style is Style.BF16 else 0x3FF)
        if scale == 0:
            candidate = 1, 0x7FFFF
        elif exponent == 0:
            candidate = 0, 0
        else:
            candidate = word >> 18, fraction + (0 if style is Style.INT8 else exponent + scale + added << 10)
        if _ordered(candidate) >= _ordered((sign, best)):
            sign, best = candidate
            if row < INDEXED_ROWS:
                index = phase >> 4 | 3 * row % 8
    if argmax:
        return phase | index if integer else _encode(sign, best, bias, style, half) << 16 | phase | index
    if integer:
        return best & 0x1FFF | sign << 31
    return _encode(sign, best, bias, style, half)


def next_index_phase(word: int) -> int:
    """Return the count of instructions in bits 11 to 8 of a Dst word with an index, one higher and wrapping."""
    return word + 0x100 & 0xF00


def _encode(sign: int, magnitude: int, bias: int, style: Style, half: bool) -> int:
    exponent, fraction = magnitude >> 10, magnitude & 0x3FF
    if exponent == 0:
        return 0
    if style is Style.FP16 and half:
        return sign << 15 | (exponent - bias) % 32 << 10 | fraction
    code = (exponent - bias) % 256 << 10 | fraction
    return sign << 15 | code >> 3 if half else sign << 31 | code << 13


def _ordered(datum: tuple[int, int]) -> int:
    sign, magnitude = datum
    return -magnitude if sign else magnitude
