"""Moves between SrcA, SrcB and Dst on single datums.

Ref: tt-isa-documentation, MOVA2D, MOVB2D, MOVD2A, MOVB2A, masks since commit 88d4bf9; ttsim v1.10.0.
"""

from bitpath.golden.scalar.checked import checked
from bitpath.golden.tensix.declarations.formats import Format
from bitpath.golden.tensix.declarations.numerics import MoveMasking, TensixNumerics

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
    numerics: TensixNumerics, datum: int, fmt: Format, *, old: int, fp32_enabled: bool = False, low_half: bool = False
) -> int:
    """Return the Dst word of `moved_source`'s result; with `low_half` the upper half is that of the old word."""
    sign, exponent, fraction = datum >> 18, datum >> 10 & 0xFF, datum & 0x3FF
    if fmt is Format.TF32 or (fp32_enabled and numerics.moves_follow_fp32 and not low_half):
        return sign << 31 | exponent << 23 | fraction << 13
    if fmt in FIVE_BITS:
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
