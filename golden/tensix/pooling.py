"""GMPOOL: the maximum of each SrcA column and a Dst row. GAPOOL is a product and stands with `mvmul`.

Ref: tt-isa-documentation, GMPOOL. Values are compared as sign and magnitude, and nothing is rounded: what is too narrow
loses its low bits.
"""

import numpy as np

from bitpath.golden.spec.tensix import BLOCK_ROWS, COLUMNS, Style
from bitpath.golden.tensix.arguments import check_dst32, check_source, check_words, leading_shape, member, source_format

FRACTION_BITS = 10
MINUS_INFINITY = -((1 << 19) - 1)
"""All ones with a sign, below every datum: what a SrcA row becomes whose scale is zero."""
INTEGER_INPUT_BITS = 19
INTEGER_OUTPUT_BITS = 13


def gmpool(
    dst: np.ndarray,
    src_b: np.ndarray,
    src_a: np.ndarray,
    *,
    style: str | Style,
    dst32: bool,
) -> np.ndarray:
    """Put into Dst row 0 the maximum of itself and each SrcA column; zero rows 1 to 3; leave rows 4 to 7.

    SrcA row i is scaled by the exponent of SrcB datum i of row 0, first: 1.0 scales nothing, a zero exponent makes the row
    minus infinity (all ones), any other may wrap the result's exponent. A Dst of 32 bits is read and written as 19 bits,
    integers as 19 and 13 magnitude bits; a SrcA zero or denormal counts as +0.

    Parameters
    ----------
    dst, src_b, src_a : uint32 [..., 8, 16], [..., 8, 16] and [..., 16, 16], words as in `mvmul`.
    style : "BF16", "TF32", "FP16" (with a 16-bit Dst only) or "INT8" (with a 32-bit Dst only).
    dst32 : width of Dst.

    Returns
    -------
    The new Dst, uint32 of the common shape.

    Raises
    ------
    TypeError, ValueError : as `mvmul`; FP16 with `dst32`.
    """
    style = member("style", style, Style)
    fmt = source_format("srca_format", None, style)
    check_dst32(style, dst32)
    if style is Style.FP16 and dst32:
        raise ValueError("dst32 is True; with style FP16, False is allowed: no document gives the 32-bit exponent")
    check_words("dst", dst, BLOCK_ROWS, 32 if dst32 else 16)
    check_source("src_b", src_b, BLOCK_ROWS, fmt)
    check_source("src_a", src_a, COLUMNS, fmt)
    leading = leading_shape(dst=dst, src_b=src_b, src_a=src_a)

    words = src_a.astype(np.int64)
    scale = (src_b[..., 0, :, np.newaxis].astype(np.int64) >> FRACTION_BITS) & 0xFF
    exponent, fraction = words >> FRACTION_BITS & 0xFF, words & 0x3FF
    if style is Style.BF16:
        fraction &= ~0b111
    bias = 0 if style is Style.INT8 else 15 if style is Style.FP16 else 127
    scaled = fraction if style is Style.INT8 else (exponent + scale << FRACTION_BITS) + fraction
    scaled = np.where(exponent == 0, 0, np.where(words >> 18 == 1, -scaled, scaled))
    candidates = np.where(scale == 0, MINUS_INFINITY, scaled)

    old = dst[..., 0, :].astype(np.int64)
    negative, magnitude = _read_dst(old, style, dst32)
    magnitude += bias << FRACTION_BITS
    best = candidates.max(axis=-2)
    present = np.where(negative, -magnitude, magnitude)
    # A negative zero of an integer Dst ties with +0, and a tie goes to SrcA.
    from_source = best >= present
    winner = np.where(from_source, np.abs(best), magnitude)
    sign = np.where(from_source, best < 0, negative)

    new = np.broadcast_to(dst, (*leading, BLOCK_ROWS, COLUMNS)).copy()
    new[..., 0, :] = _encode(winner, sign, bias, style, dst32)
    new[..., 1:4, :] = 0
    return new


def _read_dst(words: np.ndarray, style: Style, dst32: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return whether each word is negative, and its exponent and 10 fraction bits (integers: 19 magnitude bits)."""
    if style is Style.INT8:
        return words >> 31 == 1, words & (1 << INTEGER_INPUT_BITS) - 1
    if dst32:
        return words >> 31 == 1, (words & 0x7FFFFFFF) >> 13
    return words >> 15 == 1, (words & 0x7FFF) << (0 if style is Style.FP16 else 3)


def _encode(magnitude: np.ndarray, sign: np.ndarray, bias: int, style: Style, dst32: bool) -> np.ndarray:
    """Take the bias off an exponent, which may wrap, and place the bits in a Dst word."""
    negative = sign.astype(np.int64)
    if style is Style.INT8:
        return magnitude & (1 << INTEGER_OUTPUT_BITS) - 1 | negative << 31
    exponent, fraction = magnitude >> FRACTION_BITS, magnitude & 0x3FF
    wrapped = exponent - bias & (0x1F if style is Style.FP16 else 0xFF)
    logical = wrapped << FRACTION_BITS | fraction
    if style is Style.FP16:
        word = logical | negative << 15
    else:
        word = logical << 13 | negative << 31 if dst32 else logical >> 3 | negative << 15
    # A zero of SrcA carries no exponent at all, not even the bias.
    return np.where(exponent == 0, 0, word)
