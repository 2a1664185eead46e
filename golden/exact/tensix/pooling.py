"""GMPOOL on scalars: the maximum of one SrcA column and one Dst word.

Ref: tt-isa-documentation, GMPOOL.
"""

from collections.abc import Sequence

from bitpath.golden.spec.tensix import Style


def maximum(dst: int, scales: Sequence[int], column: Sequence[int], *, style: Style, dst32: bool) -> int:
    """Return the new Dst word: the maximum of `dst` and 16 SrcA words, each scaled by the exponent of a SrcB word."""
    bias = {Style.INT8: 0, Style.FP16: 15}.get(style, 127)
    if style is Style.INT8:
        sign, best = dst >> 31, dst & 0x7FFFF
    else:
        width, dropped = (32, 13) if dst32 else (16, 0)
        sign = dst >> width - 1
        best = (dst & (1 << width - 1) - 1) >> dropped
        best = (best << 3 if style is not Style.FP16 and not dst32 else best) + (bias << 10)
    for scale_word, word in zip(scales, column, strict=True):
        exponent, scale = word >> 10 & 0xFF, scale_word >> 10 & 0xFF
        fraction = word & (0x3F8 if style is Style.BF16 else 0x3FF)
        if scale == 0:
            candidate = 1, 0x7FFFF
        elif exponent == 0:
            candidate = 0, 0
        else:
            candidate = word >> 18, fraction + (0 if style is Style.INT8 else exponent + scale << 10)
        if _ordered(candidate) >= _ordered((sign, best)):
            sign, best = candidate
    if style is Style.INT8:
        return best & 0x1FFF | sign << 31
    exponent, fraction = best >> 10, best & 0x3FF
    if exponent == 0:
        return 0
    if style is Style.FP16:
        return sign << 15 | (exponent - bias) % 32 << 10 | fraction
    code = (exponent - bias) % 256 << 10 | fraction
    return sign << 31 | code << 13 if dst32 else sign << 15 | code >> 3


def _ordered(datum: tuple[int, int]) -> int:
    sign, magnitude = datum
    return -magnitude if sign else magnitude
