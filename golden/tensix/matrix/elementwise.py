"""ELWMUL, ELWADD and ELWSUB: one datum of SrcB and SrcA for each of Dst, 8x16 at once.

Ref: tt-isa-documentation 3930471, ELWMUL and ELWADD; ttsim v1.10.0 for the bits.
"""

from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import checked
from bitpath.golden.arrays.rounding import shift_round
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, Format, Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.matrix.accumulate import SUM_FRACTION_BITS, accumulate_integers
from bitpath.golden.tensix.matrix.accumulate import accumulate as add_to_dst
from bitpath.golden.tensix.operands.arguments import check_operands, check_phase, check_words, numerics_with
from bitpath.golden.tensix.operands.sources import (
    ANY_ZERO,
    ZERO_EXPONENT,
    exponent_offset,
    field_a,
    field_b,
    integer_field_a,
    integer_field_b,
    read_integers,
    read_sources,
)

ROWS = BLOCK_ROWS, BLOCK_ROWS
PRODUCT_FRACTION_BITS = 10
"""Fraction bits of a product of two fields, a value below 4."""
SIGN = np.uint32(1 << 18)
"""Sign bit of a logical source word."""
LARGEST_SHIFT = 12
"""Nothing is left of an 11-bit significand after this shift."""


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
    quirk: bool = True,
    numerics: TensixNumerics | None = None,
) -> np.ndarray:
    """Add products to Dst: ``dst + src_b * src_a`` datum by datum, in one fidelity phase.

    Parameters
    ----------
    dst, src_b, src_a : uint32 [..., 8, 16]; words and further arguments as in `mvmul`.

    Returns
    -------
    The new Dst, uint32 of the common shape.

    Raises
    ------
    TypeError, ValueError : as `mvmul`.
    """
    numerics = numerics_with(quirk, numerics)
    style, formats, _ = check_operands(dst, src_b, src_a, ROWS, style, dst32, srca_format, srcb_format)
    phase = check_phase(phase)
    if style is Style.INT8:
        x, y = (read_integers(numerics, each) for each in (src_a, src_b))
        return accumulate_integers(dst, integer_field_a(x, phase) * integer_field_b(y, phase))
    a, b = read_sources(numerics, src_a, style, formats[0]), read_sources(numerics, src_b, style, formats[1])
    offset = exponent_offset(style, dst32, phase)
    exponent = a.exponent.astype(np.int64) + b.exponent + offset
    product = (a.sign * field_a(a.significand, phase)).astype(np.int64) * b.sign * field_b(b.significand, phase)
    empty = (exponent < ANY_ZERO) | (exponent <= 0)
    if not numerics.empty_terms_in_maximum:
        empty |= product == 0
    zero_exponent = max(offset, 0) if numerics.zero_terms_keep_bias else 0
    total = np.where(empty, 0, product << SUM_FRACTION_BITS - PRODUCT_FRACTION_BITS)
    return add_to_dst(numerics, dst, [(total, np.where(empty, zero_exponent, exponent))], style=style, dst32=dst32)


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
    quirk: bool = True,
    numerics: TensixNumerics | None = None,
) -> np.ndarray:
    """Add sums to Dst, ``dst + (src_a + src_b)``; without `accumulate` the sums replace it.

    Parameters and results are those of `elwmul`. Integers are added whole, without fields.

    Raises
    ------
    TypeError, ValueError : as `mvmul`.
    """
    numerics = numerics_with(quirk, numerics)
    style, formats, _ = check_operands(dst, src_b, src_a, ROWS, style, dst32, srca_format, srcb_format)
    old = dst if accumulate else np.zeros_like(dst)
    if style is Style.INT8:
        return accumulate_integers(old, read_integers(numerics, src_a) + read_integers(numerics, src_b))
    a, b = read_sources(numerics, src_a, style, formats[0]), read_sources(numerics, src_b, style, formats[1])
    exponent = np.maximum(np.maximum(a.exponent, b.exponent), 0).astype(np.int64)
    total = np.zeros_like(exponent)
    for each in (a, b):
        shift = np.minimum(exponent - each.exponent, LARGEST_SHIFT)
        aligned = shift_round(each.sign * each.significand.astype(np.int64), shift, numerics.product_tie)
        total += np.where(each.exponent == ZERO_EXPONENT, 0, aligned)
    if style is Style.FP16 and dst32:
        exponent = np.where(exponent > 0, exponent + 127 - 15, exponent_offset(style, dst32, 0))
    sums = [(total << SUM_FRACTION_BITS - PRODUCT_FRACTION_BITS, exponent)]
    return add_to_dst(numerics, old, sums, style=style, dst32=dst32)


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
    quirk: bool = True,
    numerics: TensixNumerics | None = None,
) -> np.ndarray:
    """Add differences to Dst, ``dst + (src_a - src_b)``: `elwadd` with the signs of SrcB negated.

    Parameters and results are those of `elwadd`.

    Raises
    ------
    TypeError, ValueError : as `mvmul`.
    """
    check_words("src_b", src_b, BLOCK_ROWS, 19)
    formats: dict[str, Any] = {"srca_format": srca_format, "srcb_format": srcb_format}
    options: dict[str, Any] = {
        "style": style,
        "dst32": dst32,
        "accumulate": accumulate,
        "quirk": quirk,
        "numerics": numerics,
    }
    return elwadd(dst, src_b ^ SIGN, src_a, **formats, **options)
