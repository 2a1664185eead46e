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
from bitpath.golden.aie_ml_v2.operands.arguments import in_groups, numerics_or_default
from bitpath.golden.aie_ml_v2.operands.layout import MxBlocks
from bitpath.golden.arrays.arguments import check_array, check_broadcast, check_choice, check_instance, checked, one_of
from bitpath.golden.arrays.codec import DTYPES, codes_of, format_of
from bitpath.golden.arrays.fp32 import shift_round
from bitpath.golden.formats.catalogue import FP32, FloatFormat, Specials

# Align terms and accumulators to the largest exponent, add, normalise: the last steps of every floating-point MAC.
#
# Results are bit-identical to `bitpath.golden.aie_ml_v2.exact.fused` on every lane.
#
# Ref: AM027, chapter 4; the rounding is pinned by lanes that were measured on first-generation silicon.


TERM_FRACTION_BITS = 26
"""Terms come in units of ``2**(p - 255 - 26)``: the finest grid that `AieNumerics` allows, so that one shift rounds once."""
LARGEST_SHIFT = 62
"""Terms are below 2**33: after this shift only the sticky information is left."""
ABSENT = -1
"""Exponent of a term that is 0 or not finite, which is left out of the maximum."""


@dataclass(frozen=True, eq=False)
class Terms:
    """Summands of lanes, on the first axis: numpy adds along it fastest.

    Attributes
    ----------
    value : int64 [T, ...] in units of ``2**(exponent - 255 - 26)``, negation applied; 0 where not finite.
    exponent : int64 [T, ...], the code p; -1 where it takes no part in the maximum.
    nan : bool [...], whether a lane has a NaN.
    positive, negative : bool [...], whether it has an infinity of this sign.
    """

    value: np.ndarray
    exponent: np.ndarray
    nan: np.ndarray
    positive: np.ndarray
    negative: np.ndarray


def accumulator_terms(bits: np.ndarray, negate: bool) -> Terms:
    """Return FP32 codes, int64 of any shape, as one term a lane."""
    biased = bits >> FP32.fraction_bits & FP32.exponent_mask
    fraction = bits & FP32.fraction_mask
    significand = fraction | (biased > 0).astype(np.int64) << FP32.fraction_bits
    minus = (bits & FP32.sign_mask != 0) ^ negate
    special = biased == FP32.exponent_mask
    value = np.where(special, 0, significand) << TERM_FRACTION_BITS - FP32.fraction_bits
    infinite = special & (fraction == 0)
    return Terms(
        value=np.where(minus, -value, value)[np.newaxis],
        exponent=np.where(value == 0, ABSENT, np.maximum(biased, 1) + FP32.bias + 1)[np.newaxis],
        nan=special & (fraction > 0),
        positive=infinite & ~minus,
        negative=infinite & minus,
    )


@dataclass(frozen=True, eq=False)
class LaneSums:
    """Sums of lanes before they are normalised.

    Attributes
    ----------
    total : int64 [...] in units of ``2**(exponent - 255 - align_fraction_bits)``; without meaning where not finite.
    exponent : int64 [...], the largest code p.
    nan : bool [...], whether the sum is NaN.
    positive, negative : bool [...], whether a term is an infinity of this sign.
    """

    total: np.ndarray
    exponent: np.ndarray
    nan: np.ndarray
    positive: np.ndarray
    negative: np.ndarray


def add_aligned(numerics: AieNumerics, products: Terms | None, accumulators: list[Terms]) -> LaneSums:
    """Return the sums of lanes whose terms and accumulators broadcast."""
    groups = [] if products is None else [products]
    groups += accumulators
    ndim = max(group.value.ndim for group in groups)
    # A group with fewer axes is broadcast along its lanes, not along its terms.
    exponents = [_with_axes(group.exponent, ndim) for group in groups]
    exponent = exponents[0].max(axis=0)
    for each in exponents[1:]:
        exponent = np.maximum(exponent, each.max(axis=0))
    total = np.zeros_like(exponent)
    for group, own in zip(groups, exponents, strict=True):
        code = numerics.align_rounding if group is products else numerics.accumulator_align_rounding
        distance = exponent - own + TERM_FRACTION_BITS - numerics.align_fraction_bits
        # Terms that take no part in the maximum are 0 and stay 0 at any distance.
        shift = np.minimum(distance, LARGEST_SHIFT)
        total = total + shift_round(_with_axes(group.value, ndim), shift, code.mode).sum(axis=0)
    nan, positive, negative = (
        np.logical_or.reduce(np.broadcast_arrays(*(getattr(group, name) for group in groups)))
        for name in ("nan", "positive", "negative")
    )
    return LaneSums(total, exponent, nan | (positive & negative), positive, negative)


def sum_codes(numerics: AieNumerics, sums: LaneSums) -> np.ndarray:
    """Return the FP32 codes of sums, uint32 [...]."""
    codes = normalise(numerics, sums.total, sums.exponent)
    if sums.nan.any() or sums.positive.any() or sums.negative.any():
        codes = np.where(sums.positive, FP32.infinity_code, codes)
        codes = np.where(sums.negative, FP32.infinity_code | FP32.sign_mask, codes)
        codes = np.where(sums.nan, FP32.nan_code, codes)
    return codes.astype(np.uint32)


def _with_axes(terms: np.ndarray, ndim: int) -> np.ndarray:
    """Return [T, ...] with `ndim` axes in all."""
    return terms.reshape(terms.shape[0], *(1,) * (ndim - terms.ndim), *terms.shape[1:])


def normalise(numerics: AieNumerics, total: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Round sums on the grid ``2**(exponent - 255 - align_fraction_bits)`` to FP32 codes, int64."""
    # frexp counts the bits exactly: totals are far below 2**53.
    position = np.frexp(total.astype(np.float64))[1].astype(np.int64) - 1
    shift = position - FP32.fraction_bits
    left = np.where(shift < 0, -shift, 0)
    rounded = shift_round(total << left, np.maximum(shift, 0), numerics.result_rounding.mode)
    significand = np.abs(rounded)
    # A rounding carry leaves 2.0, whose fraction is 0 too.
    biased = exponent + position - numerics.align_fraction_bits - FP32.bias - 1 + (significand >> FP32.precision)
    sign = np.where(total < 0, FP32.sign_mask, 0)
    code = (biased << FP32.fraction_bits) + (significand & FP32.fraction_mask)
    code = np.where(biased >= FP32.exponent_mask, FP32.infinity_code, code) | sign
    flushed = sign if numerics.flushed_zero_keeps_sign else 0
    return np.where(total == 0, 0, np.where(biased <= 0, flushed, code))


FLOAT_MODES = {"bf16": FLOAT16, "fp16": FLOAT16, "fp8": FLOAT8}
"""Float modes by the names that `fused_dot` takes; in the first two either operand may be either format."""


@checked
def fused_dot(
    a: np.ndarray | MxBlocks,
    b: np.ndarray | MxBlocks,
    acc1: np.ndarray | None = None,
    acc2: np.ndarray | None = None,
    *,
    format: str,
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
    format : "bf16", "fp16", "fp8", "mx9", "mx6", "mx4" or "bfp16ebs8".
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
    numerics = numerics_or_default(numerics, format)
    check_choice("format", format, (*FLOAT_MODES, *BLOCK_FORMATS))
    if format in FLOAT_MODES:
        _check_floats(FLOAT_MODES[format], a=a, b=b)
    else:
        _check_mx(format, a=a, b=b)
    shapes = {"a": a.shape[:-1], "b": b.shape[:-1]}
    for name, acc in (("acc1", acc1), ("acc2", acc2)):
        if acc is not None:
            check_array(name, acc, np.float32)
            shapes[name] = acc.shape
    check_broadcast(**shapes)
    accumulators = (None if zero_acc1 else acc1, negate_acc1), (acc2, negate_acc2)
    sums = lane_sums(numerics, a, b, *accumulators, fmt=format, negate=negate_products)
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
            raise ValueError(f"{name} must be in {fmt} with format {fmt!r}, not in {operand.fmt.name}")
        if operand.shape[-1] != 1:
            raise ValueError(f"{name} must have 1 block on its last axis, not {operand.shape[-1]}")
