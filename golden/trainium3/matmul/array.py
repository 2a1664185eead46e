"""The array: scaled four-product dot steps chained down the rows, for all M columns and N moving inputs at once.

Bit-identical to chaining `bitpath.golden.exact.dot_step` from +0.

Ref: "Trainium3 Architecture Guide for NKI", AWS Neuron documentation, 2025-12-01, Quad-MXFP8/MXFP4 performance mode.
"""

from dataclasses import dataclass

import numpy as np

from bitpath.golden.arrays import backend
from bitpath.golden.arrays.codec import decode_array, encode_array, flushed
from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.scalar.codec import Overflow
from bitpath.golden.trainium3.declarations.dot import DotNumerics, ScaleNan
from bitpath.golden.trainium3.matmul.expansion import sum_to_odd

LOOPS = "bitpath.golden.trainium3.matmul.array_loop"
_NO_EXPONENT = -(1 << 20)
"""Exponent of a zero: below every other, and below any sum of others with it."""
_EVERYTHING = 600
"""Fraction bits that lose nothing: terms are multiples of 2**-300, and no exponent reaches 300."""


@dataclass(frozen=True)
class _Operand:
    """One side of all rows, decoded. Arrays are [P, F, 4], scale [P, F]; F is the free size, M or N."""

    finite: np.ndarray  # element values, 0 in place of infinity and NaN
    scale: np.ndarray  # value of the scale, 1 in place of infinity and NaN
    scaled: np.ndarray  # element times scale as IEEE 754 has it, NaN and infinity included
    exponent: np.ndarray  # biased as DotNumerics' E wants it, scale included; _NO_EXPONENT for zeros
    negative: np.ndarray  # [P, F]: the sign bits of the four elements as one number
    special: np.ndarray  # [P]: whether the row holds anything not finite

    @classmethod
    def decode(cls, numerics: DotNumerics, codes: np.ndarray, fmt: FloatFormat, scale_codes: np.ndarray) -> "_Operand":
        values = decode_array(fmt, codes)
        if not numerics.element_subnormals:
            values = flushed(fmt, values)
        scale = decode_array(numerics.scale_format, scale_codes)
        if numerics.scale_nan is ScaleNan.INFINITY:
            scale = np.where(np.isnan(scale), np.inf, scale)
        with np.errstate(invalid="ignore"):  # 0 * infinity is NaN, as it should be
            scaled = values * scale[..., np.newaxis]
        finite = np.where(np.isfinite(values), values, 0.0)
        finite_scale = np.where(np.isfinite(scale), scale, 1.0)
        # frexp's exponent of 2**e is e + 1.
        exponent = np.maximum(np.frexp(finite)[1] - 1, fmt.emin) + (np.frexp(finite_scale)[1] - 1)[..., np.newaxis]
        return cls(
            finite=finite,
            scale=finite_scale,
            scaled=scaled,
            exponent=np.where(finite == 0, _NO_EXPONENT, exponent),
            negative=np.signbit(values) @ np.array([1, 2, 4, 8]),
            special=~np.isfinite(scaled).all(axis=(1, 2)),
        )


def chain_rows(
    numerics: DotNumerics,
    stationary: np.ndarray,
    stationary_format: FloatFormat,
    stationary_scale: np.ndarray,
    moving: np.ndarray,
    moving_format: FloatFormat,
    moving_scale: np.ndarray,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Return the partial sums that leave the array after rows 0 to P-1, in this order.

    Parameters
    ----------
    stationary, moving : element codes [P, M, 4] and [P, N, 4] of the formats named.
    stationary_scale, moving_scale : scale codes [P, M] and [P, N], one for each row and column.
    start : partial sums that enter row 0, FP32 codes uint32 [M, N] on the accumulator's grid; +0 by default.

    Returns
    -------
    FP32 codes, uint32 [M, N].

    Raises
    ------
    ValueError : a finite partial sum in `start` has bits below the accumulator's.
    """
    work = stationary.size * moving.shape[1]
    if loops := backend.loops(LOOPS, work, numerics, stationary_scale, moving_scale):
        operands = stationary, stationary_format, stationary_scale, moving, moving_format, moving_scale
        return loops.chain_rows(numerics, *operands, start)
    x = _Operand.decode(numerics, stationary, stationary_format, stationary_scale)
    y = _Operand.decode(numerics, moving, moving_format, moving_scale)
    partial = np.zeros((stationary.shape[1], moving.shape[1])) if start is None else _read_start(numerics, start)
    for p in range(stationary.shape[0]):
        partial = _step(numerics, x, y, p, partial)
    return encode_array(FP32, partial).astype(np.uint32)  # exact: FP32 holds the accumulator's numbers


def _read_start(numerics: DotNumerics, start: np.ndarray) -> np.ndarray:
    values = decode_array(FP32, start)
    unused = FP32.fraction_bits - numerics.accumulator.fraction_bits
    if np.any(np.isfinite(values) & (start & (1 << unused) - 1 != 0)):
        raise ValueError(f"start has bits below the accumulator's grid; the lowest {unused} bits of a code are 0")
    return values if numerics.accumulator_subnormals else flushed(FP32, values)


def _step(numerics: DotNumerics, x: _Operand, y: _Operand, p: int, partial: np.ndarray) -> np.ndarray:
    """Add row p to the partial sums [M, N], which are float64 values on the accumulator's grid."""
    finite_partial = np.where(np.isfinite(partial), partial, 0.0)
    if numerics.align_fraction_bits is None:
        terms = [*_row_sums(x, y, p), finite_partial]
    else:
        terms = _aligned_terms(numerics, x, y, p, finite_partial)
    total = sum_to_odd(terms)
    zero = total == 0
    if zero.any():
        all_negative = (x.negative[p][:, np.newaxis] ^ y.negative[p] == 0b1111) & np.signbit(finite_partial)
        total = np.where(zero, np.where(all_negative, -0.0, 0.0), total)
    result = _round(numerics, total)
    if x.special[p] or y.special[p] or not np.isfinite(partial).all():
        # float64 arithmetic follows IEEE 754's rules for NaN and infinity, and no finite sum here comes near its limits.
        with np.errstate(invalid="ignore"):
            ieee = np.einsum("mi,ni->mn", x.scaled[p], y.scaled[p]) + partial
        result = np.where(np.isfinite(ieee), result, ieee)
    return result


def _row_sums(x: _Operand, y: _Operand, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays [M, N] whose exact sum is the scaled sum of row p's four products.

    FP8 elements are multiples of 2**-16 below 2**16, and those of magnitude 1 and more are multiples of 2**-3. So
    products with such a factor are multiples of 2**-19 and their sums stay below 2**34: 53 bits. The products of two
    smaller elements are multiples of 2**-32 and their sums stay below 4. Either sum is exact in any order, fused or not.
    """
    a, b = x.finite[p], y.finite[p].T
    a_small, b_small = np.where(np.abs(a) < 1, a, 0.0), np.where(np.abs(b) < 1, b, 0.0)
    large = _multiply(np.hstack([a, a - a_small]), np.vstack([b - b_small, b_small]))
    small = _multiply(a_small, b_small)
    scale = x.scale[p][:, np.newaxis] * y.scale[p]
    return small * scale, large * scale


def _multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Multiply matrices without BLAS, whose threads cost more than products this thin."""
    return np.einsum("mi,in->mn", a, np.ascontiguousarray(b))


def _aligned_terms(numerics: DotNumerics, x: _Operand, y: _Operand, p: int, partial: np.ndarray) -> list[np.ndarray]:
    """Return the four products and the partial sum on the grid of their largest exponent, five arrays [M, N]."""
    a, b = x.finite[p] * x.scale[p][:, np.newaxis], y.finite[p] * y.scale[p][:, np.newaxis]
    # At most 8 significant bits and exponents within +-300: exact.
    terms = [np.multiply.outer(a[:, i], b[:, i]) for i in range(numerics.terms)]
    largest = np.where(partial == 0, _NO_EXPONENT, np.maximum(np.frexp(partial)[1] - 1, FP32.emin))
    for i in range(numerics.terms):
        largest = np.maximum(largest, np.add.outer(x.exponent[p][:, i], y.exponent[p][:, i]))
    shift = min(numerics.align_fraction_bits, _EVERYTHING) - largest
    on_grid = np.trunc if numerics.align_rounding is Rounding.RTZ else np.rint
    return [np.ldexp(on_grid(np.ldexp(term, shift)), -shift) for term in (*terms, partial)]


def _round(numerics: DotNumerics, total: np.ndarray) -> np.ndarray:
    """Round sums that were rounded to odd to the accumulator; return the values as float64."""
    codes = encode_array(
        numerics.accumulator,
        total,
        rounding=numerics.accumulator_rounding,
        overflow=Overflow.SPECIAL if numerics.overflow_to_infinity else Overflow.SATURATE,
    )
    # The accumulator has FP32's sign and exponent fields, so its codes are FP32's without the lowest fraction bits.
    in_fp32 = (codes << FP32.fraction_bits - numerics.accumulator.fraction_bits).astype(np.uint32)
    values = in_fp32.view(np.float32).astype(np.float64)
    return values if numerics.accumulator_subnormals else flushed(FP32, values)
