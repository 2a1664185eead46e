"""Align terms and accumulators to the largest exponent, add, normalise: the last steps of every floating-point MAC.

Bit-identical to `bitpath.golden.aie_ml_v2.exact.fused` on every lane.

Ref: AM027, chapter 4; the rounding is pinned by lanes that were measured on first-generation silicon.
"""

from dataclasses import dataclass

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.arrays.rounding import shift_round
from bitpath.golden.formats.catalogue import FP32

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
