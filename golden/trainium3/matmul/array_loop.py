"""Trainium3's array: scaled four-product dot steps chained down the rows, with float64 as the exact container.

Exactness. An element times its scale is a float64 without error: at most 4 significant bits between 2**-16 and 2**16, times
a power of two between 2**-127 and 2**127. So is a product of two of them, and fusing it with an addition changes nothing.
The smallest product is 2**-32 * 2**-254, the largest sum below 2**34 * 2**254 * 4: no step comes near float64's own
limits. A block of rows of one instruction takes the cheapest of three steps that its elements allow:

- *Plain*: products and partial sums are multiples of one power of two 2**g, and all sums stay below 2**(g + 53). Then float64
  holds each sum, in any order, and the conversion to FP32 is the one rounding. Rounding a multiple of 2**g to FP32 gives a
  multiple of 2**g again, or of FP32's smallest number. Blocks of quantised tensors take this step.
- *Narrow*: the four products alone fit so. Their sum and the partial sum is one float64 addition, whose error Knuth's two-sum
  gives exactly; rounded to odd at 53 bits it rounds to FP32's 24 (or fewer, below the normal range) as the exact sum does,
  for 53 is at least 24 + 2 (Boldo and Melquiond).
- *Wide*: `sum_to_odd` keeps all five terms as an expansion.

Numerics other than one rounding to nearest of the exact sum to FP32 take a fourth step, which brings the terms onto a grid
if the numerics ask for it, sums them by `sum_to_odd`, and rounds by the numerics' fields.

IEEE 754 addition gives the specials and zeros that `DotNumerics` asks for: -0 where all terms are -0, +0 of a
cancellation, NaN of 0 * infinity and of infinity - infinity. The conversion to FP32 rounds to nearest even, keeps
subnormals, the sign of what rounds to zero, and overflows to infinity.

Ref: J. R. Shewchuk, "Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates", Discrete &
Computational Geometry 18, 1997 (theorem 10, Grow-Expansion); S. Boldo and G. Melquiond, "Emulation of FMA and Correctly
Rounded Sums: Proved Algorithms Using Rounding to Odd", IEEE Transactions on Computers 57(4), 2008.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from bitpath.golden.arrays.bits import code64, copy_corner, magnitude_code, to_odd, two_sum, value64
from bitpath.golden.arrays.codec import decode_array, flushed
from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.arrays.parallel import in_parallel, owned, shares
from bitpath.golden.formats.catalogue import FP32, FloatFormat, Rounding
from bitpath.golden.formats.dot import DotNumerics, ScaleNan

ROWS, COLUMNS = 8, 64
"""Sizes of a block: its partial sums and its stationary elements fit in the L1 cache, the moving ones in the L2 cache."""
PLAIN, NARROW, WIDE = range(3)
"""Cheap steps of a block's row, see above."""
_SUM_BITS = 2
"""Bits by which a sum of four terms is wider than a product."""
_EXACT_BITS = 53
"""Bits of a float64's significand."""
_NO_EXPONENT = 1 << 10
"""Exponent of elements that are 0 or not finite, beyond every real one."""
_EVERYTHING = 600
"""Fraction bits that lose nothing: terms are multiples of 2**-300, and no exponent reaches 300."""
_FRACTION, _EMIN, _EMAX, _BIAS = FP32.fraction_bits, FP32.emin, FP32.emax, FP32.bias
_NAN = np.uint32(FP32.nan_code).view(np.float32)


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
    x_side, y_side = (stationary, stationary_format, stationary_scale), (moving, moving_format, moving_scale)
    shape = stationary.shape[1], moving.shape[1]
    result = np.zeros(shape, np.float32) if start is None else start.view(np.float32).copy()
    x = packed(numerics, *x_side, ROWS)
    fields = _rounding(numerics)

    def work(columns: slice) -> None:
        codes, fmt, scale = y_side
        y = packed(numerics, codes[:, columns], fmt, scale[:, columns], COLUMNS)
        _chain(*x, *y, fields, start is not None, result, columns.start)

    in_parallel(work, shares(shape[1], COLUMNS))
    result[np.isnan(result)] = _NAN
    return result.view(np.uint32)


class _Fields(NamedTuple):
    """Fields of the numerics that the fourth step reads.

    Attributes
    ----------
    align, align_to_nearest : fraction bits of the grid, or -1 for none; whether terms are rounded onto it, else truncated.
    fraction_bits, to_nearest, subnormals, to_infinity : the accumulator and how a sum is rounded to it.
    """

    align: int
    align_to_nearest: bool
    fraction_bits: int
    to_nearest: bool
    subnormals: bool
    to_infinity: bool


def _rounding(numerics: DotNumerics) -> _Fields | None:
    """Return the fields that the fourth step reads, or None where the three cheap steps round as the numerics ask."""
    fmt = numerics.accumulator
    fields = _Fields(
        align=-1 if numerics.align_fraction_bits is None else min(numerics.align_fraction_bits, _EVERYTHING),
        align_to_nearest=numerics.align_rounding is Rounding.RNE,
        fraction_bits=fmt.fraction_bits,
        to_nearest=numerics.accumulator_rounding is Rounding.RNE,
        subnormals=numerics.accumulator_subnormals,
        to_infinity=numerics.overflow_to_infinity,
    )
    plain = fmt == FP32 and fields.align < 0 and fields.to_nearest and fields.subnormals and fields.to_infinity
    return None if plain else fields


def packed(
    numerics: DotNumerics, codes: np.ndarray, fmt: FloatFormat, scale_codes: np.ndarray, width: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return one side in blocks of `width` columns, the last one filled with zeros.

    Returns
    -------
    Elements times scales, float64 [blocks, P, 4, width]; for each block and row the exponent of the lowest last place and
    one above those of all its elements, int64 [blocks, P] each; for aligned numerics the exponents of the elements, int64
    [blocks, P, 4, width], or else an array without elements.
    """
    values, last, above, exponents = _elements(fmt, numerics.element_subnormals)
    scales, scale_exponents = _scales(numerics.scale_format, numerics.scale_nan)
    rows, free, lanes = codes.shape
    shape = -(-free // width), rows, lanes, width
    blocks, spans = np.zeros(shape), np.empty((2, *shape[:2]), np.int64)
    bytes_of = (owned(each.astype(np.uint8, copy=False)) for each in (codes, scale_codes))
    _pack(*bytes_of, values, last, above, scales, scale_exponents, blocks, *spans)
    if numerics.align_fraction_bits is None:
        return blocks, *spans, np.zeros((0, 0, 0, 0), np.int64)
    each = exponents[codes] + scale_exponents[scale_codes][..., np.newaxis]
    filled = np.full((rows, shape[0] * width, lanes), -_NO_EXPONENT)
    filled[:, :free] = each
    return blocks, *spans, owned(filled.reshape(rows, shape[0], width, lanes).transpose(1, 0, 3, 2))


@cache
def _elements(fmt: FloatFormat, subnormals: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return, for every code, its value, the exponent of its last place, one that is above the value's, and its own.

    Its own exponent is that of DotNumerics' E: a subnormal has emin.
    """
    values = decode_array(fmt, np.arange(1 << fmt.width))
    if not subnormals:
        values = flushed(fmt, values)
    counts = np.isfinite(values) & (values != 0)
    above = np.frexp(np.where(counts, values, 1.0))[1].astype(np.int64)
    own = np.maximum(above - 1, fmt.emin)
    # The sum with a scale's exponent stays beyond every real one.
    nothing = 2 * _NO_EXPONENT
    return (
        values,
        *(np.where(counts, own - fmt.fraction_bits, nothing), np.where(counts, above, -nothing)),
        np.where(counts, own, -nothing),
    )


@cache
def _scales(fmt: FloatFormat, nan: ScaleNan) -> tuple[np.ndarray, np.ndarray]:
    """Return the value and the exponent of every scale code; an exponent of 0 if it is not finite."""
    values = decode_array(fmt, np.arange(1 << fmt.width))
    if nan is ScaleNan.INFINITY:
        values = np.where(np.isnan(values), np.inf, values)
    # frexp's exponent of 2**e is e + 1.
    finite = np.where(np.isfinite(values), values, 1.0)
    return values, np.frexp(finite)[1].astype(np.int64) - 1


@kernel
def _pack(codes, scale_codes, values, last, above, scales, scale_exponents, blocks, lowest, highest):
    """Write what `packed` returns, for codes [P, F, 4] and scale codes [P, F]."""
    width = blocks.shape[3]
    for block in range(blocks.shape[0]):
        columns = slice(block * width, min((block + 1) * width, codes.shape[1]))
        for p in range(codes.shape[0]):
            own, own_scale, out = codes[p, columns], scale_codes[p, columns], blocks[block, p]
            low, high = _NO_EXPONENT, -_NO_EXPONENT
            for i in range(own.shape[0]):
                scale, exponent = scales[own_scale[i]], scale_exponents[own_scale[i]]
                own_low, own_high = _NO_EXPONENT, -_NO_EXPONENT
                for lane in range(4):
                    code = own[i, lane]
                    out[lane, i] = values[code] * scale
                    own_low, own_high = min(own_low, last[code]), max(own_high, above[code])
                low, high = min(low, own_low + exponent), max(high, own_high + exponent)
            lowest[block, p], highest[block, p] = low, high


@kernel(fused=True)
def _chain(x, x_lowest, x_highest, x_exponents, y, y_lowest, y_highest, y_exponents, fields, started, result, first):
    """Add all rows to `result` [M, N] float32, columns from `first` on: two sides of `packed`, and what `_rounding` returns.

    numba compiles the cheap steps or the fourth one, by the type of `fields`.
    """
    partial = np.zeros((ROWS, COLUMNS), np.float32)
    steps = np.empty(x.shape[1], np.int64)
    for n in range(y.shape[0]):
        for m in range(x.shape[0]):
            out = result[m * ROWS : (m + 1) * ROWS, first + n * COLUMNS : first + (n + 1) * COLUMNS]
            copy_corner(out, partial)
            if fields is None:
                choose_steps(x_lowest[m], x_highest[m], y_lowest[n], y_highest[n], started, steps)
                for p in range(x.shape[1]):
                    _row(x, y, m, n, p, steps[p], partial)
            else:
                for p in range(x.shape[1]):
                    _other_row(x, x_exponents, y, y_exponents, m, n, p, fields, partial)
            copy_corner(partial, out)


@piece
def _row(x, y, m, n, p, step, partial):
    """Add row p to the partial sums of block m, n by one of the three cheap steps."""
    for r in range(ROWS):
        x0, x1, x2, x3 = x[m, p, 0, r], x[m, p, 1, r], x[m, p, 2, r], x[m, p, 3, r]
        if step == PLAIN:
            for i in range(COLUMNS):
                total = x2 * y[n, p, 2, i] + (x3 * y[n, p, 3, i] + np.float64(partial[r, i]))
                partial[r, i] = np.float32(x0 * y[n, p, 0, i] + (x1 * y[n, p, 1, i] + total))
        elif step == NARROW:
            for i in range(COLUMNS):
                total = x0 * y[n, p, 0, i] + x1 * y[n, p, 1, i] + (x2 * y[n, p, 2, i] + x3 * y[n, p, 3, i])
                total, error = two_sum(total, np.float64(partial[r, i]))
                partial[r, i] = np.float32(to_odd(total, error))
        else:
            for i in range(COLUMNS):
                a, b, c, d = x0 * y[n, p, 0, i], x1 * y[n, p, 1, i], x2 * y[n, p, 2, i], x3 * y[n, p, 3, i]
                partial[r, i] = np.float32(sum_to_odd(a, b, c, d, np.float64(partial[r, i])))


@piece
def _other_row(x, x_exponents, y, y_exponents, m, n, p, fields, partial):
    """Add row p to the partial sums of block m, n by the numerics' fields."""
    align, align_to_nearest, fraction_bits, to_nearest, subnormals, to_infinity = fields
    for r in range(ROWS):
        for i in range(COLUMNS):
            own = np.float64(partial[r, i])
            if not subnormals and abs(own) < 2.0**_EMIN:
                own = math.copysign(0.0, own)
            a, b = x[m, p, 0, r] * y[n, p, 0, i], x[m, p, 1, r] * y[n, p, 1, i]
            c, d = x[m, p, 2, r] * y[n, p, 2, i], x[m, p, 3, r] * y[n, p, 3, i]
            ieee = a + b + (c + d) + own
            if align >= 0:
                largest = -_NO_EXPONENT if own == 0.0 else max(_exponent(own), _EMIN)
                for lane in range(4):
                    largest = max(largest, x_exponents[m, p, lane, r] + y_exponents[n, p, lane, i])
                if largest > -_NO_EXPONENT:
                    shift = align - largest
                    a, b = _on_grid(a, shift, align_to_nearest), _on_grid(b, shift, align_to_nearest)
                    c, d = _on_grid(c, shift, align_to_nearest), _on_grid(d, shift, align_to_nearest)
                    own = _on_grid(own, shift, align_to_nearest)
            total = sum_to_odd(a, b, c, d, own)
            if ieee - ieee == 0.0:
                partial[r, i] = rounded(total, fraction_bits, to_nearest, subnormals, to_infinity)
            else:
                partial[r, i] = ieee


@piece
def choose_steps(x_lowest, x_highest, y_lowest, y_highest, started, steps):
    """Write the step of each row of a block: the cheapest one that is exact."""
    # Sums are multiples of 2**grid and below `bound`; FP32 codes from elsewhere may be anything.
    grid = _EMIN - _FRACTION if started else _NO_EXPONENT
    bound = 2.0 ** (_EMAX + 1) if started else 0.0
    for p in range(steps.shape[0]):
        last = x_lowest[p] + y_lowest[p]
        above = x_highest[p] + y_highest[p] + _SUM_BITS
        if above <= last:
            # No product counts: a side is 0 or not finite.
            steps[p] = PLAIN
        else:
            grid = min(grid, last)
            bound += math.ldexp(1.0, int(above))
            if bound <= math.ldexp(1.0, int(grid + _EXACT_BITS)):
                steps[p] = PLAIN
            elif above - last <= _EXACT_BITS:
                steps[p] = NARROW
            else:
                steps[p] = WIDE
            # A sum that rounds up is larger by 2**-24 of itself at most.
            bound += math.ldexp(bound, -_FRACTION)


@piece
def sum_to_odd(a, b, c, d, e):
    """Return the exact sum of five float64 terms, rounded to odd at 53 bits; a zero, NaN or infinity as IEEE 754 has it.

    Grow-Expansion keeps the sum exactly, as components of increasing magnitude. With ties to even they are nonadjacent:
    the components below h sum to less than half the weight of h's lowest set bit. Folding from the smallest is exact
    rounding to odd. Let y be the exact sum of the components below h, v = y rounded to odd and inexact, g the weight of v's
    last bit. Then |y| >= 2**52 g, so h is a multiple of 2g, and v + h lies between the same two neighbouring multiples of
    2g as y + h, at the odd multiple of g. As |y + h| > |y|, the last bit of the rounded y + h weighs g (then v + h is the
    answer itself) or at least 2g (then both sums round alike).
    """
    plain = a + b + (c + d) + e
    h1, h0 = two_sum(b, a)
    carry, h0 = two_sum(c, h0)
    h2, h1 = two_sum(carry, h1)
    carry, h0 = two_sum(d, h0)
    carry, h1 = two_sum(carry, h1)
    h3, h2 = two_sum(carry, h2)
    carry, h0 = two_sum(e, h0)
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
    return total if plain - plain == 0.0 else plain


@piece
def _exponent(value):
    """Return the exponent of a normal float64."""
    return (code64(value) >> 52 & 0x7FF) - 1023


@piece
def _on_grid(value, shift, to_nearest):
    """Return a value on the grid of ``2**-shift``."""
    scaled = value * value64((shift + 1023) << 52)
    return (np.rint(scaled) if to_nearest else np.trunc(scaled)) * value64((1023 - shift) << 52)


@piece
def rounded(total, fraction_bits, to_nearest, subnormals, to_infinity):
    """Return a finite sum, rounded to odd, in the accumulator's format, as its value, float32."""
    magnitude = magnitude_code(code64(abs(total)), fraction_bits, _EMIN, _BIAS, np.int64(to_nearest))
    infinity = np.int64(_EMAX + _BIAS + 1) << fraction_bits
    if magnitude >= infinity:
        magnitude = infinity if to_infinity else infinity - 1
    if not subnormals and magnitude < 1 << fraction_bits:
        magnitude = np.int64(0)
    value = np.uint32(magnitude << (_FRACTION - fraction_bits)).view(np.float32)
    return np.float32(math.copysign(value, total))
