"""One pass of the floating-point MAC: products of a lane and up to two accumulators, added in one go.

Ref: AM027, chapter 4, and its Table 7; llvm-aie for operations and operands.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import BLOCK_FORMATS, MX4, MX9, MX_BLOCK, MX_NAN_EXPONENT
from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8, FLOAT16, Mode
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics, Mx4Path
from bitpath.golden.aie_ml_v2.mac.align import (
    ABSENT,
    TERM_FRACTION_BITS,
    LaneSums,
    Terms,
    accumulator_terms,
    add_aligned,
    sum_codes,
)
from bitpath.golden.aie_ml_v2.operands.arguments import numerics_or_default
from bitpath.golden.aie_ml_v2.operands.axes import in_groups
from bitpath.golden.aie_ml_v2.operands.mx_blocks import MxBlocks
from bitpath.golden.arrays.arguments import check_array, check_broadcast, check_choice, check_instance, checked, one_of
from bitpath.golden.arrays.codec import DTYPES, codes_of, format_of
from bitpath.golden.formats.catalogue import FP32, FloatFormat, Specials

FLOAT_MODES = {"bf16": FLOAT16, "fp16": FLOAT16, "fp8": FLOAT8}
"""Float modes by the names that `fused_dot` takes; in the first two either operand may be either format."""


@checked
def fused_dot(
    a: np.ndarray | MxBlocks,
    b: np.ndarray | MxBlocks,
    acc1: np.ndarray | None = None,
    acc2: np.ndarray | None = None,
    *,
    fmt: str,
    negate_products: bool = False,
    negate_acc1: bool = False,
    negate_acc2: bool = False,
    zero_acc1: bool = False,
    numerics: AieNumerics | None = None,
) -> np.ndarray:
    """Add the products of one lane and two accumulators, aligned to the largest exponent, with one rounding.

    Parameters
    ----------
    a, b : [..., 8], or [..., 1] for element-wise products of 16-bit floats, of the mode's dtypes: bfloat16 and float16,
        or float8_e4m3, e4m3fn, e4m3fnuz, e5m2 and e5m2fnuz, each operand by itself. For blocks, MxBlocks of `fmt` with
        one block on the last axis. Leading axes broadcast.
    acc1, acc2 : float32 [...]; None is not there.
    fmt : "bf16", "fp16", "fp8", "mx9", "mx6", "mx4" or "bfp16ebs8".
    negate_products, negate_acc1, negate_acc2 : signs, turned before the sum.
    zero_acc1 : leave acc1 out, whatever it holds.
    numerics : None is `AIE_ML_V2`'s, for bfp16ebs8 `XDNA2_BFP16EBS8`'s.

    Returns
    -------
    float32 [...].

    Raises
    ------
    TypeError, ValueError : another format, dtype or shape.
    """
    numerics = numerics_or_default(numerics, fmt)
    check_choice("fmt", fmt, (*FLOAT_MODES, *BLOCK_FORMATS))
    if fmt in FLOAT_MODES:
        _check_floats(FLOAT_MODES[fmt], a=a, b=b)
    else:
        _check_mx(fmt, a=a, b=b)
    shapes = {"a": a.shape[:-1], "b": b.shape[:-1]}
    for name, acc in (("acc1", acc1), ("acc2", acc2)):
        if acc is not None:
            check_array(name, acc, np.float32)
            shapes[name] = acc.shape
    check_broadcast(**shapes)
    accumulators = (None if zero_acc1 else acc1, negate_acc1), (acc2, negate_acc2)
    sums = lane_sums(numerics, a, b, *accumulators, fmt=fmt, negate=negate_products)
    return sum_codes(numerics, sums).view(np.float32)


def lane_sums(
    numerics: AieNumerics,
    a: np.ndarray | MxBlocks,
    b: np.ndarray | MxBlocks,
    *accumulators: tuple[np.ndarray | None, bool],
    fmt: str,
    negate: bool,
) -> LaneSums:
    """Return the sums of products, negated or not, and of accumulators, each with True if it is negated."""
    terms: Callable[..., Terms] = float_terms if fmt in FLOAT_MODES else mx_terms
    return add_aligned(numerics, terms(numerics, a, b, negate), _accumulators(*accumulators))


@checked
def add_accumulators(
    acc1: np.ndarray,
    acc2: np.ndarray,
    *,
    negate_acc1: bool = False,
    negate_acc2: bool = False,
    numerics: AieNumerics | None = None,
) -> np.ndarray:
    """Add or subtract accumulators, float32 of shapes that broadcast, in the MAC without products.

    Raises
    ------
    TypeError, ValueError : another dtype, or shapes that do not broadcast.
    """
    check_array("acc1", acc1, np.float32)
    check_array("acc2", acc2, np.float32)
    check_broadcast(acc1=acc1.shape, acc2=acc2.shape)
    numerics = numerics_or_default(numerics)
    sums = add_aligned(numerics, None, _accumulators((acc1, negate_acc1), (acc2, negate_acc2)))
    return sum_codes(numerics, sums).view(np.float32)


def float_terms(numerics: AieNumerics, a: np.ndarray, b: np.ndarray, negate: bool) -> Terms:
    """Return the products of float arrays as terms."""
    ndim = max(a.ndim, b.ndim)
    x, y = (decode_floats(np.moveaxis(each.reshape((1,) * (ndim - each.ndim) + each.shape), -1, 0)) for each in (a, b))
    fraction_bits = x.fmt.fraction_bits + y.fmt.fraction_bits
    product = (x.signed << TERM_FRACTION_BITS - fraction_bits) * (-y.signed if negate else y.signed)
    exponent = x.exponent + y.exponent + 1 + 2 * FP32.bias - x.fmt.bias - y.fmt.bias
    if not numerics.float_zero_term:
        exponent = np.where(product != 0, exponent, ABSENT)
    none = np.zeros(product.shape[1:], bool)
    if not (x.special.any() or y.special.any()):
        return Terms(product, exponent, none, none, none)
    special = x.special | y.special
    # A significand of 0 is a zero: an infinity's has its hidden bit.
    nan = x.nan | y.nan | (special & (product == 0))
    infinite = special & ~nan
    return Terms(
        value=product,
        exponent=np.where(special, ABSENT, exponent),
        nan=nan.any(axis=0),
        positive=(infinite & (product > 0)).any(axis=0),
        negative=(infinite & (product < 0)).any(axis=0),
    )


def mx_terms(numerics: AieNumerics, a: MxBlocks, b: MxBlocks, negate: bool) -> Terms:
    """Return the sums of pairs of blocks, one on the last axis of each, as terms."""
    exponents = a.exponent[..., 0].astype(np.int64), b.exponent[..., 0].astype(np.int64)
    # MX4 codes are multiplied with zeros appended below, which receive the bits of a right shift.
    lossless = numerics.mx_lossless_shift or a.fmt is MX4
    if lossless and numerics.mx_post_add_first and not splits(numerics, a):
        # Shift each code left by 1 less its element shift: (x << 1 - g) * (y << 1 - h) is x * y << 2 - g - h.
        x, y = ((each.codes.astype(np.int64) << 1 - each.element_shifts)[..., 0, :] for each in (a, b))
        total = np.einsum("...k,...k->...", x, y)[np.newaxis]
    else:
        x, y = (each.codes.astype(np.int64)[..., 0, :] for each in (a, b))
        shift = a.element_shifts[..., 0, :] + b.element_shifts[..., 0, :]
        products = x * y << 2 - shift if lossless else (x * y >> shift) << 2
        size = 1
        if numerics.mx_post_add_first:
            size = MX_BLOCK // 2 if splits(numerics, a) else a.fmt.elements
        total = np.moveaxis(in_groups(products, size).sum(axis=-1), -1, 0)
    counts = total != 0
    if numerics.mx_zero_term:
        counts |= (exponents[0] > 0) & (exponents[1] > 0)
    nan = np.zeros(total.shape[1:], bool)
    if numerics.mx_nan_block:
        nan |= (exponents[0] == MX_NAN_EXPONENT) | (exponents[1] == MX_NAN_EXPONENT)
        total = np.where(nan, 0, total)
        counts &= ~nan
    # The last place of `total` is two below that of a product of codes, which have m - 1 fraction bits each.
    value = (-total if negate else total) << TERM_FRACTION_BITS - 2 * a.fmt.magnitude_bits
    none = np.zeros_like(nan)
    return Terms(value, np.where(counts, exponents[0] + exponents[1] + 1, ABSENT), nan, none, none)


def splits(numerics: AieNumerics, a: MxBlocks) -> bool:
    """True if the halves of a block pair's products are rounded separately."""
    as_mx9 = a.fmt is MX9 or (a.fmt is MX4 and numerics.mx4_path is Mx4Path.MX9)
    return as_mx9 and numerics.mx9_split_round


@dataclass(frozen=True, eq=False)
class FloatOperand:
    """Float codes taken apart: `signed` significands, biased exponents of at least 1, infinity or NaN as `special`."""

    fmt: FloatFormat
    signed: np.ndarray
    exponent: np.ndarray
    special: np.ndarray
    nan: np.ndarray


def decode_floats(array: np.ndarray) -> FloatOperand:
    """Take an array of floats of the catalogue apart."""
    fmt = format_of(array.dtype)
    codes = codes_of(array).astype(np.int64)
    biased = codes >> fmt.fraction_bits & fmt.exponent_mask
    significand = codes & fmt.fraction_mask | (biased > 0).astype(np.int64) << fmt.fraction_bits
    magnitude = codes & ~fmt.sign_mask
    special = codes == fmt.nan_code if fmt.specials is Specials.UNSIGNED_ZERO else magnitude > fmt.max_code
    return FloatOperand(
        fmt=fmt,
        signed=np.where(codes & fmt.sign_mask, -significand, significand),
        exponent=np.maximum(biased, 1),
        special=special,
        nan=special if fmt.infinity_code is None else magnitude > fmt.infinity_code,
    )


def _accumulators(*given: tuple[np.ndarray | None, bool]) -> list[Terms]:
    return [
        accumulator_terms(np.ascontiguousarray(acc).view(np.uint32).reshape(acc.shape).astype(np.int64), negate)
        for acc, negate in given
        if acc is not None
    ]


def _check_floats(mode: Mode, **operands: Any) -> None:
    depths = (mode.depth, *(depth for _, depth in mode.elementwise))
    for name, operand in operands.items():
        check_array(name, operand, *(DTYPES[fmt] for fmt in mode.formats))
        if operand.ndim < 1 or operand.shape[-1] not in depths:
            shapes = one_of(f"[..., {depth}]" for depth in dict.fromkeys(depths))
            raise ValueError(f"{name} must have shape {shapes}, not {operand.shape}")
    if len({operand.shape[-1] for operand in operands.values()}) > 1:
        shapes = " and ".join(str(operand.shape) for operand in operands.values())
        raise ValueError(f"a and b must have the same last axis, not shapes {shapes}")


def _check_mx(fmt: str, **operands: Any) -> None:
    for name, operand in operands.items():
        check_instance(name, operand, MxBlocks)
        if operand.fmt.name != fmt:
            raise ValueError(f"{name} must be in {fmt} with fmt {fmt!r}, not in {operand.fmt.name}")
        if operand.shape[-1] != 1:
            raise ValueError(f"{name} must have 1 block on its last axis, not {operand.shape[-1]}")
