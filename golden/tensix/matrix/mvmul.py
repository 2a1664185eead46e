"""MVMUL: Dst += SrcB @ SrcA, 8x16 @ 16x16, in one fidelity phase. DOTPV and row broadcast are its variants.

Ref: tt-isa-documentation 3930471, MVMUL and DOTPV; ttsim v1.10.0 for the bits. `TensixNumerics` has a field
for each point that they leave open.
"""

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import checked
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, Chip, Format, Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.operands.arguments import check_operands, check_phase, check_words, numerics_with
from bitpath.golden.tensix.operands.registers import dst_fields
from bitpath.golden.tensix.operands.sources import integer_flushes, integer_mask_a, integer_mask_b, source_fields

ROW_BROADCAST_ROWS = (0, 2, 4, 6)
"""Dst rows that MVMUL with row broadcast adds to."""


@checked
def mvmul(
    dst: np.ndarray,
    src_b: np.ndarray,
    src_a: np.ndarray,
    *,
    style: str | Style,
    dst32: bool,
    phase: int,
    srca_format: Format | int | str | None = None,
    srcb_format: Format | int | str | None = None,
    quirk: bool = True,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """Add SrcB @ SrcA to Dst, one rounding a datum.

    Parameters
    ----------
    dst : uint32 [..., 8, 16] words: FP32 (INT32 for style INT8) with `dst32`, else BF16, or FP16 for style FP16.
    src_b, src_a : uint32 [..., 8, 16] and [..., 16, 16] logical 19-bit words; leading axes broadcast.
    style : "BF16", "FP16", "TF32" or "INT8"; the last needs `dst32`.
    phase : fidelity phase, 0 to 3.
    srca_format, srcb_format : data formats of the sources; None is the style's own.
    quirk : True if Wormhole's wrong result for a sum of -1 unit is kept; False switches it off in `numerics`.
    numerics, chip : one of both, or neither: None is `WORMHOLE`'s; a chip stands for its preset's.

    Returns
    -------
    The new Dst, uint32 of the common shape.

    Raises
    ------
    TypeError, ValueError : other dtypes, shapes, styles, formats, phases, or words too wide.
    """
    return _blocks(
        dst,
        src_b,
        src_a,
        BLOCK_ROWS,
        style,
        dst32,
        phase,
        srca_format,
        srcb_format,
        numerics_with(quirk, numerics, chip),
    )


dotpv = mvmul
"""DOTPV: MVMUL without row broadcast, with the same arguments and results."""


@checked
def mvmul_row(
    dst: np.ndarray,
    src_b_row: np.ndarray,
    src_a: np.ndarray,
    *,
    style: str | Style,
    dst32: bool,
    phase: int,
    srca_format: Format | int | str | None = None,
    srcb_format: Format | int | str | None = None,
    quirk: bool = True,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """MVMUL with row broadcast: add one SrcB row @ SrcA to Dst rows 0, 2, 4 and 6.

    Row 7 stays; rows 1, 3 and 5 do too, or get a product with zeros added, as `numerics.row_broadcast_writes_all` says.
    `src_b_row` is uint32 [..., 1, 16]; everything else is as in `mvmul`.

    Raises
    ------
    TypeError, ValueError : as `mvmul`.
    """
    numerics = numerics_with(quirk, numerics, chip)
    check_words("src_b_row", src_b_row, 1, 19)
    rows = np.zeros((*src_b_row.shape[:-2], BLOCK_ROWS, COLUMNS), np.uint32)
    rows[..., ROW_BROADCAST_ROWS, :] = src_b_row
    new = _blocks(dst, rows, src_a, BLOCK_ROWS, style, dst32, phase, srca_format, srcb_format, numerics)
    kept = (7,) if numerics.row_broadcast_writes_all else (1, 3, 5, 7)
    new[..., kept, :] = dst[..., kept, :]
    return new


@checked
def gapool(
    dst: np.ndarray,
    src_b: np.ndarray,
    src_a: np.ndarray,
    *,
    style: str | Style,
    dst32: bool,
    phase: int = 0,
    srca_format: Format | int | str | None = None,
    srcb_format: Format | int | str | None = None,
    quirk: bool = True,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """GAPOOL: MVMUL on the upper four rows of SrcB and Dst; Dst rows 4 to 7 stay. The arguments are those of `mvmul`.

    Raises
    ------
    TypeError, ValueError : as `mvmul`.
    """
    numerics = numerics_with(quirk, numerics, chip)
    rows = BLOCK_ROWS // 2
    check_words("dst", dst, BLOCK_ROWS, 32 if dst32 else 16)
    check_words("src_b", src_b, BLOCK_ROWS, 19)
    formats = srca_format, srcb_format
    upper = _blocks(dst[..., :rows, :], src_b[..., :rows, :], src_a, rows, style, dst32, phase, *formats, numerics)
    lower = np.broadcast_to(dst[..., rows:, :], upper.shape)
    return np.concatenate([upper, lower], axis=-2)


def _blocks(
    dst: np.ndarray,
    src_b: np.ndarray,
    src_a: np.ndarray,
    rows: int,
    style: str | Style,
    dst32: bool,
    phase: int,
    srca_format: Format | int | str | None,
    srcb_format: Format | int | str | None,
    numerics: TensixNumerics,
) -> np.ndarray:
    """Check the arguments and compute."""
    sizes = rows, COLUMNS
    style, formats, leading = check_operands(dst, src_b, src_a, sizes, style, dst32, srca_format, srcb_format)
    phase = check_phase(phase)
    new = product_of(numerics, style, dst32, phase, formats)(
        np.broadcast_to(dst, (*leading, rows, COLUMNS)).reshape(-1, rows * COLUMNS),
        src_b.reshape(-1, rows, COLUMNS),
        src_a.reshape(-1, COLUMNS, COLUMNS),
        (_numbers(src_b.shape[:-2], leading), _numbers(src_a.shape[:-2], leading)),
    )
    return new.reshape(*leading, rows, COLUMNS)


def product_of(
    numerics: TensixNumerics, style: Style, dst32: bool, phase: int, formats: tuple[Format, Format]
) -> Callable[..., np.ndarray]:
    """Return MVMUL with these settings, which are not checked: the function of `mvmul_loop`, but for its last arguments."""
    # The compiler is loaded with the first call.
    from bitpath.golden.tensix.matrix import mvmul_integer_loop, mvmul_loop

    fields = _fields(numerics, style, dst32, phase, formats)
    if style is Style.INT8:
        return partial(mvmul_integer_loop.mvmul, fields=fields)
    reading, general, goes_up = fields
    return partial(mvmul_loop.mvmul, reading=reading, general=general, goes_up=goes_up)


def product_in_dst_of(
    numerics: TensixNumerics, style: Style, dst32: bool, phase: int, formats: tuple[Format, Format]
) -> tuple[Callable[..., None], tuple[Any, ...]]:
    """Return the compiled MVMUL on rows of Dst, `mvmul_in_dst` of a loop, and its last arguments; nothing is checked."""
    from bitpath.golden.tensix.matrix import mvmul_integer_loop, mvmul_loop

    loop = mvmul_integer_loop if style is Style.INT8 else mvmul_loop
    return loop.mvmul_in_dst, _fields(numerics, style, dst32, phase, formats)


def _fields(
    numerics: TensixNumerics, style: Style, dst32: bool, phase: int, formats: tuple[Format, Format]
) -> tuple[Any, ...]:
    """Return the last arguments of a loop's MVMUL."""
    from bitpath.golden.tensix.matrix import mvmul_loop

    if style is Style.INT8:
        masks = integer_mask_b(phase), integer_mask_a(phase)
        return tuple(map(np.int32, (*masks, *integer_flushes(numerics))))
    reading = np.array(source_fields(numerics, style, dst32, phase, formats), np.int32)
    general = mvmul_loop.general_fields(numerics, dst_fields(style, dst32))
    return reading, mvmul_loop.row_of(general), general.goes_up


def _numbers(own: tuple[int, ...], leading: tuple[int, ...]) -> np.ndarray:
    """Return, for each block of the common shape, which of an operand's blocks it takes."""
    return np.broadcast_to(np.arange(prod(own)).reshape(own), leading).reshape(-1)
