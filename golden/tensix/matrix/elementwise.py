"""ELWMUL, ELWADD and ELWSUB: one datum of SrcB and SrcA for each of Dst, 8x16 at once.

Ref: tt-isa-documentation 3930471, ELWMUL and ELWADD; ttsim v1.10.0 for the bits.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from bitpath.golden.arrays.arguments import checked
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, Chip, Format, Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.operands.arguments import check_operands, check_phase, numerics_with
from bitpath.golden.tensix.operands.registers import dst_fields
from bitpath.golden.tensix.operands.sources import (
    ZERO_FRACTIONS,
    exponent_offset,
    integer_flushes,
    integer_mask_a,
    integer_mask_b,
    source_fields,
)

ROWS = BLOCK_ROWS, BLOCK_ROWS
WIDENING = 127 - 15
"""Added to an exponent of 5 bits, so that it has the bias of one of 8."""


@checked
def elwmul(
    dst: np.ndarray,
    src_b: np.ndarray,
    src_a: np.ndarray,
    *,
    style: str | Style,
    dst32: bool,
    phase: int = 0,
    srca_format: Format | int | str | None = None,
    srcb_format: Format | int | str | None = None,
    keep_src_b_denormals: bool = False,
    quirk: bool = True,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """Add products to Dst: ``dst + src_b * src_a`` datum by datum, in one fidelity phase.

    Parameters
    ----------
    dst, src_b, src_a : uint32 [..., 8, 16]; words and further arguments as in `mvmul`.
    keep_src_b_denormals : True with ALU_ACC_CTRL_Zero_Flag_disabled_src: a SrcB datum of exponent 0 is 1.fraction at this
        exponent, a zero too, and an integer its magnitude. SrcA's stay zeros.

    Returns
    -------
    The new Dst, uint32 of the common shape.

    Raises
    ------
    TypeError, ValueError : as `mvmul`.
    """
    numerics = numerics_with(quirk, numerics, chip)
    style, formats, leading = check_operands(dst, src_b, src_a, ROWS, style, dst32, srca_format, srcb_format)
    phase = check_phase(phase)
    new = elwmul_of(numerics, style, dst32, phase, formats, keep_src_b_denormals)(*_blocks(leading, dst, src_b, src_a))
    return new.reshape(*leading, BLOCK_ROWS, COLUMNS)


@checked
def elwadd(
    dst: np.ndarray,
    src_b: np.ndarray,
    src_a: np.ndarray,
    *,
    style: str | Style,
    dst32: bool,
    accumulate: bool = True,
    srca_format: Format | int | str | None = None,
    srcb_format: Format | int | str | None = None,
    keep_src_b_denormals: bool = False,
    quirk: bool = True,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """Add sums to Dst, ``dst + (src_a + src_b)``; without `accumulate` the sums replace it.

    Parameters and results are those of `elwmul`. Integers are added whole, without fields. With `keep_src_b_denormals` a SrcB
    datum without exponent and fraction stays zero; it is 1.0 at exponent 0 only with `numerics.zero_flag_disabled`.

    Raises
    ------
    TypeError, ValueError : as `mvmul`.
    """
    return _added(
        dst,
        src_b,
        src_a,
        False,
        style,
        dst32,
        accumulate,
        (srca_format, srcb_format),
        keep_src_b_denormals,
        numerics_with(quirk, numerics, chip),
    )


@checked
def elwsub(
    dst: np.ndarray,
    src_b: np.ndarray,
    src_a: np.ndarray,
    *,
    style: str | Style,
    dst32: bool,
    accumulate: bool = True,
    srca_format: Format | int | str | None = None,
    srcb_format: Format | int | str | None = None,
    keep_src_b_denormals: bool = False,
    quirk: bool = True,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """Add differences to Dst, ``dst + (src_a - src_b)``: `elwadd` with the signs of SrcB negated.

    Parameters and results are those of `elwadd`.

    Raises
    ------
    TypeError, ValueError : as `mvmul`.
    """
    return _added(
        dst,
        src_b,
        src_a,
        True,
        style,
        dst32,
        accumulate,
        (srca_format, srcb_format),
        keep_src_b_denormals,
        numerics_with(quirk, numerics, chip),
    )


def _added(
    dst: np.ndarray,
    src_b: np.ndarray,
    src_a: np.ndarray,
    subtract: bool,
    style: str | Style,
    dst32: bool,
    accumulate: bool,
    formats: tuple[Format | int | str | None, Format | int | str | None],
    keep_src_b_denormals: bool,
    numerics: TensixNumerics,
) -> np.ndarray:
    """Check the arguments and compute."""
    style, own, leading = check_operands(dst, src_b, src_a, ROWS, style, dst32, *formats)
    operation = elwadd_of(numerics, style, dst32, own, keep_src_b_denormals, subtract, accumulate)
    return operation(*_blocks(leading, dst, src_b, src_a)).reshape(*leading, BLOCK_ROWS, COLUMNS)


def elwmul_of(
    numerics: TensixNumerics,
    style: Style,
    dst32: bool,
    phase: int,
    formats: tuple[Format, Format],
    keep_src_b_denormals: bool,
) -> Callable[..., np.ndarray]:
    """Return ELWMUL with these settings, which are not checked: a function of words of Dst, SrcB and SrcA, uint32 [n, 128]."""
    # The compiler is loaded with the first call.
    from bitpath.golden.tensix.matrix import elementwise_loop

    if keep_src_b_denormals:
        numerics = replace(numerics, zero_flag_disabled=True)
    if style is Style.INT8:
        masks = integer_mask_b(phase), integer_mask_a(phase)
        fields = elementwise_loop.integer_fields(masks, integer_flushes(numerics))
        return partial(elementwise_loop.elementwise, fields=fields)
    reading = source_fields(numerics, style, dst32, phase, formats)
    return partial(
        elementwise_loop.elwmul,
        fields=elementwise_loop.product_fields(numerics, reading, dst_fields(style, dst32)),
    )


def elwadd_of(
    numerics: TensixNumerics,
    style: Style,
    dst32: bool,
    formats: tuple[Format, Format],
    keep_src_b_denormals: bool,
    subtract: bool,
    accumulate: bool,
) -> Callable[..., np.ndarray]:
    """Return ELWADD, or with `subtract` ELWSUB, with these settings; a function as of `elwmul_of`."""
    from bitpath.golden.tensix.matrix import elementwise_loop

    signs = {"subtract": subtract, "accumulate": accumulate}
    if style is Style.INT8:
        flushes = integer_flushes(
            replace(numerics, zero_flag_disabled=keep_src_b_denormals or numerics.zero_flag_disabled)
        )
        return partial(elementwise_loop.elementwise, fields=elementwise_loop.integer_fields(None, flushes, **signs))
    # A sum of zeros has the exponent of a product of zeros in phase 0, whatever the numerics say.
    zero_exponent = max(exponent_offset(style, dst32, 0), 0)
    reading = source_fields(numerics, style, dst32, 0, formats)._replace(zero_exponent=zero_exponent)
    if keep_src_b_denormals and reading.b_zeros:
        reading = reading._replace(b_zeros=ZERO_FRACTIONS)
    rebias = WIDENING if style is Style.FP16 and dst32 else 0
    fields = elementwise_loop.sum_fields(numerics, reading, dst_fields(style, dst32), rebias=rebias, **signs)
    return partial(elementwise_loop.elwadd, fields=fields)


def _blocks(
    leading: tuple[int, ...], dst: np.ndarray, src_b: np.ndarray, src_a: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the operands with the common leading axes as one, uint32 [n, 128]."""
    shape = *leading, BLOCK_ROWS, COLUMNS
    # A view made by broadcast_to is read-only, and the loops copy those.
    whole = (each if each.shape == shape else np.broadcast_to(each, shape) for each in (dst, src_b, src_a))
    d, b, a = (each.reshape(-1, BLOCK_ROWS * COLUMNS) for each in whole)
    return d, b, a
