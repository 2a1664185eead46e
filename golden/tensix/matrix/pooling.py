"""GMPOOL: the maximum of each SrcA column and a Dst row. GAPOOL is a product, see `mvmul`.

Ref: tt-isa-documentation, GMPOOL. Values are compared as sign and magnitude. Nothing is rounded: low bits are dropped.
"""

import numpy as np

from bitpath.golden.arrays.arguments import checked
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, Chip, Format, Style
from bitpath.golden.tensix.declarations.numerics import GmpoolFp16, TensixNumerics
from bitpath.golden.tensix.operands.arguments import check_operands, numerics_or_default

FRACTION_BITS = 10
LOWEST = (1 << 19) - 1
"""All ones, a negative value below every datum, which replaces a SrcA row with scale zero."""
INTEGER_INPUT_BITS = 19
INTEGER_OUTPUT_BITS = 13
ORDER = np.array([*range(4, 8), *range(4), *range(8, 16)])
"""Rows of SrcA in the order of their comparisons: of equal datums the last one wins."""
FP16_REBIAS = 127 - 2 * 15
"""Turns the sum of two FP16 exponents into one of FP32."""
INDEXED_ROWS = 8
INDEX_FACTOR = 3
"""A row's index is stored times 3, modulo 8."""


@checked
def gmpool(
    dst: np.ndarray,
    src_b: np.ndarray,
    src_a: np.ndarray,
    *,
    style: str | Style,
    dst32: bool,
    argmax: bool = False,
    srca_format: Format | int | str | None = None,
    srcb_format: Format | int | str | None = None,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """Put into Dst row 0 the maximum of itself and each SrcA column; zero rows 1 to 3; leave rows 4 to 7.

    SrcA row i is scaled by the exponent of SrcB datum i of row 0, first: 1.0 scales nothing, a zero exponent makes the row
    minus infinity (all ones), any other may wrap the result's exponent. A Dst of 32 bits is read and written as 19 bits,
    integers as 19 and 13 magnitude bits; a SrcA zero or denormal counts as +0. An undefined Dst row is given as all ones, which
    is below everything. FP16 with a Dst of 32 bits has the exponent that `numerics.gmpool_fp16` says.

    With `argmax` the low 12 bits of Dst's words are an index: bits 11 to 8 count the instructions, the low byte says of the
    last maximum found in a SrcA row of 0 to 7 the count (times 16) and the row (times 3, modulo 8). BF16 and FP16 keep the
    maximum, of all 16 rows, in the upper half, in the order of a 16-bit word; TF32 and INT8 begin with the Dst word as an
    integer and return the index alone. Rows 1 to 3 are zero but for the count.

    Parameters
    ----------
    dst, src_b, src_a : uint32 [..., 8, 16], [..., 8, 16] and [..., 16, 16], words as in `mvmul`.
    style : "BF16", "TF32", "FP16" or "INT8" (with a 32-bit Dst only).
    dst32 : width of Dst; `argmax` needs 32 bits.
    argmax : True to return the position of the maximum too.
    srca_format, srcb_format : data formats of the sources; None is the style's own. Of SrcB the exponent alone counts.
    numerics, chip : one of both, or neither: None is `WORMHOLE`'s; a chip stands for its preset's.

    Returns
    -------
    The new Dst, uint32 of the common shape.

    Raises
    ------
    TypeError, ValueError : as `mvmul`; `argmax` without `dst32`.
    """
    numerics = numerics_or_default(numerics, chip)
    sizes = BLOCK_ROWS, COLUMNS
    style, _, leading = check_operands(dst, src_b, src_a, sizes, style, dst32, srca_format, srcb_format)
    if argmax and not dst32:
        raise ValueError("dst32 must be True with argmax, whose index is in the lower half, not False")

    words = src_a.astype(np.int64)
    scale = (src_b[..., 0, :, np.newaxis].astype(np.int64) >> FRACTION_BITS) & 0xFF
    exponent, fraction = words >> FRACTION_BITS & 0xFF, words & 0x3FF
    if style is Style.BF16:
        fraction &= ~0b111
    widens = style is Style.FP16 and dst32 and not argmax
    bias = 0 if style is Style.INT8 else 15 if style is Style.FP16 and not widens else 127
    if widens and numerics.gmpool_fp16 is GmpoolFp16.REBIAS:
        exponent = np.where(exponent, exponent + FP16_REBIAS + bias, 0)
    scaled = fraction if style is Style.INT8 else (exponent + scale << FRACTION_BITS) + fraction
    sign = np.where(scale == 0, True, (words >> 18 == 1) & (exponent != 0))
    scaled = np.where(scale == 0, LOWEST, np.where(exponent == 0, 0, scaled))

    old = dst[..., 0, :].astype(np.int64)
    integer = style is Style.INT8 or (argmax and style is Style.TF32)
    half = not dst32 or (argmax and not integer)
    read = old >> 16 if half and dst32 else old
    short = style is Style.FP16 and half
    negative, magnitude = _read_integer(read) if integer else _read_float(read, short, half, bias)
    # The Dst word comes first, then SrcA's rows in their order.
    signs = np.concatenate([_as_row(negative, leading), _as_column(sign[..., ORDER, :], leading)], axis=-2)
    magnitudes = np.concatenate([_as_row(magnitude, leading), _as_column(scaled[..., ORDER, :], leading)], axis=-2)
    ordered = np.where(signs, -magnitudes, magnitudes)
    found = ordered == np.maximum.accumulate(ordered, axis=-2)
    last = _last(found)
    largest, negative = (np.take_along_axis(each, last, axis=-2)[..., 0, :] for each in (magnitudes, signs))

    new = np.broadcast_to(dst, (*leading, BLOCK_ROWS, COLUMNS)).copy()
    new[..., 0, :] = _integer_word(largest, negative) if integer else _float_word(largest, negative, bias, short, half)
    new[..., 1:4, :] = 0
    if argmax:
        phases = np.broadcast_to(dst, new.shape)[..., :4, :].astype(np.int64) + 0x100 & 0xF00  # the counts, one higher
        where = _last(found[..., : INDEXED_ROWS + 1, :])[..., 0, :]
        row = ORDER[where - 1]
        code = phases[..., 0, :] >> 4 | row * INDEX_FACTOR % INDEXED_ROWS
        phases[..., 0, :] |= np.where(where == 0, np.broadcast_to(old, where.shape) & 0xFF, code)
        new[..., 0, :] = 0 if integer else new[..., 0, :] << 16
        new[..., :4, :] |= phases.astype(np.uint32)
    return new


def _as_row(values: np.ndarray, leading: tuple[int, ...]) -> np.ndarray:
    return np.broadcast_to(values[..., np.newaxis, :], (*leading, 1, COLUMNS))


def _as_column(values: np.ndarray, leading: tuple[int, ...]) -> np.ndarray:
    return np.broadcast_to(values, (*leading, COLUMNS, COLUMNS))


def _last(found: np.ndarray) -> np.ndarray:
    """Return the last position along the axis before the last that is True; position 0 always is."""
    return found.shape[-2] - 1 - np.argmax(found[..., ::-1, :], axis=-2, keepdims=True)


def _read_integer(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sign and 19 magnitude bits."""
    return words >> 31 == 1, words & (1 << INTEGER_INPUT_BITS) - 1


def _read_float(words: np.ndarray, short: bool, half: bool, bias: int) -> tuple[np.ndarray, np.ndarray]:
    """Return sign, and exponent and 10 fraction bits with a second bias, as a scaled SrcA datum has it."""
    if not half:
        return words >> 31 == 1, ((words & 0x7FFFFFFF) >> 13) + (bias << FRACTION_BITS)
    return words >> 15 == 1, ((words & 0x7FFF) << (0 if short else 3)) + (bias << FRACTION_BITS)


def _integer_word(magnitude: np.ndarray, sign: np.ndarray) -> np.ndarray:
    return magnitude & (1 << INTEGER_OUTPUT_BITS) - 1 | sign.astype(np.int64) << 31


def _float_word(magnitude: np.ndarray, sign: np.ndarray, bias: int, short: bool, half: bool) -> np.ndarray:
    """Take the bias off an exponent, which may wrap, and place the bits in a Dst word."""
    negative = sign.astype(np.int64)
    exponent, fraction = magnitude >> FRACTION_BITS, magnitude & 0x3FF
    wrapped = exponent - bias & (0x1F if short else 0xFF)
    logical = wrapped << FRACTION_BITS | fraction
    if short:
        word = logical | negative << 15
    else:
        word = logical >> 3 | negative << 15 if half else logical << 13 | negative << 31
    # A zero of SrcA carries no exponent at all, not even the bias.
    return np.where(exponent == 0, 0, word)
