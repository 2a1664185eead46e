"""GMPOOL: the maximum of each SrcA column and a Dst row. GAPOOL is a product, see `mvmul`.

Ref: tt-isa-documentation, GMPOOL. Values are compared as sign and magnitude. Nothing is rounded: low bits are dropped.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from bitpath.golden.arrays.arguments import checked
from bitpath.golden.arrays.parallel import owned
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, Chip, Format, Style
from bitpath.golden.tensix.declarations.numerics import GmpoolFp16, TensixNumerics
from bitpath.golden.tensix.operands.arguments import check_operands, numerics_or_default

ORDER = np.array([*range(4, 8), *range(4), *range(8, 16)])
"""Rows of SrcA in the order of their comparisons: of equal datums the last one wins."""
FP16_REBIAS = 127 - 2 * 15
"""Turns the sum of two FP16 exponents into one of FP32."""


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
    operation = gmpool_of(numerics, style, dst32, argmax)
    shapes = (*leading, BLOCK_ROWS, COLUMNS), (*leading, BLOCK_ROWS, COLUMNS), (*leading, COLUMNS, COLUMNS)
    words = (
        np.broadcast_to(each, shape).reshape(-1, *shape[-2:])
        for each, shape in zip((dst, src_b, src_a), shapes, strict=True)
    )
    return operation(*words).reshape(shapes[0])


def gmpool_of(numerics: TensixNumerics, style: Style, dst32: bool, argmax: bool) -> Callable[..., np.ndarray]:
    """Return GMPOOL with these settings: a function of words of Dst, [n, 4 or 8, 16], SrcB and SrcA, which are not checked.

    Raises
    ------
    ValueError : `argmax` without `dst32`.
    """
    if argmax and not dst32:
        raise ValueError("dst32 must be True with argmax, whose index is in the lower half, not False")
    # The compiler is loaded with the first call.
    from bitpath.golden.tensix.matrix import pooling_loop

    integer = style is Style.INT8 or (argmax and style is Style.TF32)
    half = not dst32 or (argmax and not integer)
    widens = style is Style.FP16 and dst32 and not argmax
    bias = 0 if style is Style.INT8 else 15 if style is Style.FP16 and not widens else 127
    pooling = pooling_loop.Pooling(
        integer=integer,
        half=half,
        upper=half and dst32,
        short=style is Style.FP16 and half,
        bias=bias,
        rebias=FP16_REBIAS + bias if widens and numerics.gmpool_fp16 is GmpoolFp16.REBIAS else 0,
        fraction_mask=0x3F8 if style is Style.BF16 else 0x3FF,
        scales=style is not Style.INT8,
        argmax=argmax,
    )
    return partial(_pooled, pooling_loop.gmpool, np.array(pooling, np.int64))


def _pooled(
    kernel: Callable[..., None], fields: np.ndarray, dst: np.ndarray, src_b: np.ndarray, src_a: np.ndarray
) -> np.ndarray:
    result = np.empty(dst.shape, np.uint32)
    kernel(owned(dst), owned(src_b), owned(src_a), ORDER, result, fields)
    return result
