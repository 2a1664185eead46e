"""Trainium3's array: scaled four-product dot steps chained down the rows, with float64 as the exact container.

Bit-identical to `trainium3.array.chain_rows` for the numerics that `supports` names.

Exactness. An element times its scale is a float64 without error: at most 4 significant bits between 2**-16 and 2**16, times
a power of two between 2**-127 and 2**127. So is a product of two of them. A *narrow* row is one whose products, before
their scales, are multiples of 2**g, and whose sums of four stay below 2**(g + 53): then every such sum is exact, in any
order, fused or not. E4M3 with E4M3 spans 38 bits and with E5M2 52; E5M2 with E5M2 spans 66, so it depends on the
elements of the row. The sum of a narrow row's four products and the partial sum is one float64 addition, whose error Knuth's
two-sum gives exactly; rounded to odd at 53 bits it rounds to FP32's 24 (or fewer, below the normal range) as the exact
sum does, for 53 is at least 24 + 2 (Boldo and Melquiond). Other rows go through `trainium3.expansion.sum_to_odd`'s
algorithm on all five terms, whose proof stands there. The smallest product is 2**-32 * 2**-254, the largest sum below
2**34 * 2**254 * 4: no step comes near float64's own limits.

IEEE 754 addition gives the specials and zeros that `DotNumerics` asks for: -0 where all terms are -0, +0 of a
cancellation, NaN of 0 * infinity and of infinity - infinity. The conversion to FP32 rounds to nearest even, keeps
subnormals, the sign of what rounds to zero, and overflows to infinity.
"""

from functools import cache

import numpy as np
from numba import njit

from bitpath.golden.arrays.backend import in_parallel, owned, shares
from bitpath.golden.arrays.bits import kernel, to_odd, two_sum
from bitpath.golden.arrays.codec import decode_array, flushed
from bitpath.golden.formats.catalogue import E8M0, FP32, FloatFormat
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.trainium3.declarations.dot import DotNumerics, ScaleNan

COLUMNS = 64
"""Columns of a block: the partial sums fit in the L1 cache, the moving elements of 128 rows in the L2 cache."""
ROWS = 32
"""Fewest rows for a thread of their own."""
_SUM_BITS = 2
"""Bits by which a sum of four terms is wider than a product."""
_EXACT_BITS = 53
"""Bits of a float64's significand."""
_NO_ELEMENT = 1 << 10
"""Exponent of elements that are 0 or not finite, beyond every real one."""


def supports(numerics: DotNumerics, stationary_scale: np.ndarray, moving_scale: np.ndarray) -> bool:
    """Return True if the kernel implements these numerics with these scales.

    Either flag of subnormal elements is; a scale of 255 that means infinity is not: it multiplies products, not their sum.
    """
    nan = E8M0.nan_code
    infinite = numerics.scale_nan is ScaleNan.INFINITY and bool(
        np.any(stationary_scale == nan) or np.any(moving_scale == nan)
    )
    return (
        not infinite
        and numerics.terms == 4
        and numerics.scale_format == E8M0
        and numerics.accumulator == FP32
        and numerics.align_fraction_bits is None
        and numerics.accumulator_rounding is Rounding.RNE
        and numerics.accumulator_subnormals
        and numerics.overflow_to_infinity
    )


def chain_rows(
    numerics: DotNumerics,
    stationary: np.ndarray,
    stationary_format: FloatFormat,
    stationary_scale: np.ndarray,
    moving: np.ndarray,
    moving_format: FloatFormat,
    moving_scale: np.ndarray,
    start: np.ndarray | None,
) -> np.ndarray:
    """Return the array's partial sums, FP32 codes uint32 [M, N]; arguments are those of `array.chain_rows`."""
    keep = numerics.element_subnormals
    wide = np.zeros(len(stationary), bool)
    if _bits(stationary_format) + _bits(moving_format) + _SUM_BITS > _EXACT_BITS:
        (x_lowest, x_bound), (y_lowest, y_bound) = (
            _span(fmt, codes, keep) for fmt, codes in ((stationary_format, stationary), (moving_format, moving))
        )
        wide = x_bound + y_bound - x_lowest - y_lowest + _SUM_BITS > _EXACT_BITS
    x = _scaled(stationary_format, stationary, stationary_scale, keep)
    y = owned(_scaled(moving_format, moving, moving_scale, keep).transpose(0, 2, 1))
    shape = x.shape[1], y.shape[2]
    result = np.zeros(shape, np.float32) if start is None else start.view(np.float32).copy()
    in_parallel(lambda rows: _chain(owned(x[:, rows]), y, wide, result[rows]), shares(shape[0], ROWS))
    result[np.isnan(result)] = np.uint32(FP32.nan_code).view(np.float32)
    return result.view(np.uint32)


def _bits(fmt: FloatFormat) -> int:
    """Return the bits from a format's smallest subnormal number to its largest."""
    return fmt.emax + 1 - fmt.emin + fmt.fraction_bits


def _scaled(fmt: FloatFormat, codes: np.ndarray, scale_codes: np.ndarray, subnormals: bool) -> np.ndarray:
    return _elements(fmt, subnormals)[0][codes] * _scales()[scale_codes][..., np.newaxis]


def _span(fmt: FloatFormat, codes: np.ndarray, subnormals: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each row, the weight's exponent of the lowest last place and a bound of the exponents of its elements."""
    _, last, bound = _elements(fmt, subnormals)
    return last[codes].min(axis=(1, 2), initial=_NO_ELEMENT), bound[codes].max(axis=(1, 2), initial=-_NO_ELEMENT)


@cache
def _elements(fmt: FloatFormat, subnormals: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, for every code, its value, the exponent of its last place, and one that is above the value's."""
    values = decode_array(fmt, np.arange(1 << fmt.width))
    if not subnormals:
        values = flushed(fmt, values)
    counts = np.isfinite(values) & (values != 0)
    above = np.frexp(np.where(counts, values, 1.0))[1]
    last = np.maximum(above - 1, fmt.emin) - fmt.fraction_bits
    return values, np.where(counts, last, _NO_ELEMENT), np.where(counts, above, -_NO_ELEMENT)


@cache
def _scales() -> np.ndarray:
    return decode_array(E8M0, np.arange(1 << E8M0.width))


@kernel
def _chain(x, y, wide, result):
    """Add all rows to `result` [M, N] float32: x is [P, M, 4] and y [P, 4, N], elements times scales."""
    for n in range(0, y.shape[2], COLUMNS):
        columns = slice(n, min(n + COLUMNS, y.shape[2]))
        for m in range(x.shape[1]):
            partial = result[m, columns]
            for p in range(x.shape[0]):
                x0, x1, x2, x3 = x[p, m, 0], x[p, m, 1], x[p, m, 2], x[p, m, 3]
                y0, y1, y2, y3 = y[p, 0, columns], y[p, 1, columns], y[p, 2, columns], y[p, 3, columns]
                if wide[p]:
                    for i in range(partial.shape[0]):
                        partial[i] = _wide_step(x0 * y0[i], x1 * y1[i], x2 * y2[i], x3 * y3[i], np.float64(partial[i]))
                else:
                    for i in range(partial.shape[0]):
                        products = x0 * y0[i] + x1 * y1[i] + (x2 * y2[i] + x3 * y3[i])
                        total, error = two_sum(products, np.float64(partial[i]))
                        partial[i] = np.float32(to_odd(total, error))


@njit(forceinline=True)
def _wide_step(a, b, c, d, partial):
    """Return the exact sum of five float64 terms, rounded once to FP32."""
    plain = a + b + (c + d) + partial
    # Grow-Expansion; h0 to h4 come out in increasing magnitude.
    h1, h0 = two_sum(b, a)
    carry, h0 = two_sum(c, h0)
    h2, h1 = two_sum(carry, h1)
    carry, h0 = two_sum(d, h0)
    carry, h1 = two_sum(carry, h1)
    h3, h2 = two_sum(carry, h2)
    carry, h0 = two_sum(partial, h0)
    carry, h1 = two_sum(carry, h1)
    carry, h2 = two_sum(carry, h2)
    h4, h3 = two_sum(carry, h3)
    total, error = two_sum(h0, h1)
    total, error = two_sum(to_odd(total, error), h2)
    total, error = two_sum(to_odd(total, error), h3)
    total, error = two_sum(to_odd(total, error), h4)
    total = to_odd(total, error)
    # The plain sum has the right sign of a zero sum (-0 only if all terms are -0) and the right infinity or NaN.
    total = plain if (plain == 0.0) & (total == 0.0) else total + 0.0
    return np.float32(total if plain - plain == 0.0 else plain)
