"""Trainium3's array: scaled four-product dot steps chained down the rows, with float64 as the exact container.

An operand's elements are kept as BF16 codes, which hold every FP8 number, with their scales, and a block is decoded when its
columns are computed. Products of one batch and one instruction after the other along K are parts of one call.

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
from bitpath.golden.arrays.codec import decode_array, encode_array, flushed
from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.arrays.parallel import Progress, in_parallel, owned, spread
from bitpath.golden.formats.catalogue import BF16, FP32, FloatFormat, Rounding
from bitpath.golden.formats.dot import DotNumerics, ScaleNan
from bitpath.golden.trainium3.declarations.quad_mx import MAX_MOVING_FP32, MAX_STATIONARY, X4

ROWS, COLUMNS = 8, 64
"""Sizes of a block: its partial sums and its stationary elements fit in the L1 cache, the moving ones in the L2 cache."""
CHUNK = 16
"""Blocks of rows that share the decoded numbers of a block of columns."""
PLAIN, NARROW, WIDE = range(3)
"""Cheap steps of a block's row, see above."""
SUM_BITS = 2
"""Bits by which a sum of four terms is wider than a product."""
_EXACT_BITS = 53
"""Bits of a float64's significand."""
_NO_EXPONENT = 1 << 10
"""Exponent of elements that are 0 or not finite, beyond every real one."""
_EVERYTHING = 600
"""Fraction bits that lose nothing: terms are multiples of 2**-300, and no exponent reaches 300."""
_FRACTION, _EMIN, _EMAX, _BIAS = FP32.fraction_bits, FP32.emin, FP32.emax, FP32.bias
_NAN = np.uint32(FP32.nan_code).view(np.float32)


Packed = tuple[np.ndarray, ...]
"""One side of products, in blocks of `width` columns, as `packed` returns it."""


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
    shape = 1, stationary.shape[1], moving.shape[1]
    result = np.zeros(shape, np.float32) if start is None else start.view(np.float32).reshape(shape).copy()
    x = packed(numerics, stationary[:, np.newaxis], stationary_format, stationary_scale[:, np.newaxis], ROWS)
    y = packed(numerics, moving[:, np.newaxis], moving_format, moving_scale[:, np.newaxis], COLUMNS)
    formats = stationary_format, moving_format
    multiply(numerics, formats, x, y, result, tile=len(stationary), started=start is not None)
    return result[0].view(np.uint32)


def multiply(
    numerics: DotNumerics,
    formats: tuple[FloatFormat, FloatFormat],
    x: Packed,
    y: Packed,
    result: np.ndarray,
    *,
    tile: int,
    started: bool = False,
    rows: slice | None = None,
    progress: Progress | None = None,
) -> None:
    """Write the products of packed sides to `result`, float32 [B, M, N], NaN as the one NaN.

    Parameters
    ----------
    formats : those of the elements of `x` and `y`.
    tile : rows of the array that an instruction has; its sums start from +0 and are added, in FP32, to those before.
    started : True if the sums start from `result`, which is for one instruction.
    rows : those of the result that `x` has; None for all.
    progress : is told the parts done and all of them: as many as there are tiles of 128 rows and 512 columns.
    """
    rows = slice(0, result.shape[1]) if rows is None else rows
    count = rows.stop - rows.start
    units = y[0].shape[0] * y[0].shape[1] * -(-x[0].shape[1] // CHUNK)
    tables, emins = _scales(numerics.scale_format, numerics.scale_nan), tuple(fmt.emin for fmt in formats)
    fields = _rounding(numerics)
    parts = (
        None if progress is None else len(result) * -(-count // MAX_STATIONARY) * -(-result.shape[2] // MAX_MOVING_FP32)
    )

    def work(part: slice) -> None:
        options = *tables, *emins, fields, started, tile
        _chain(*x, *y, *options, result, rows.start, rows.stop, part.start, part.stop)

    in_parallel(work, spread(units, result[:, rows].size * x[0].shape[2] * X4, parts), progress)


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


def packed(numerics: DotNumerics, codes: np.ndarray, fmt: FloatFormat, scale_codes: np.ndarray, width: int) -> Packed:
    """Return one side, element codes [P, B, F, 4] and scale codes [G, B, F], in blocks of `width` columns.

    G divides P: each P / G rows share a scale. The last block is filled with zeros.

    Returns
    -------
    Elements as BF16 codes, which hold every FP8 number, uint16 [B, blocks, P, 4, width]; scale codes, uint8 [B, blocks, G,
    width]; for each block and row the exponent of the lowest last place and one above those of all its elements times
    scales, int64 [B, blocks, P] each.
    """
    table, last, above = _elements(fmt, numerics.element_subnormals)
    _, scale_exponents = _scales(numerics.scale_format, numerics.scale_nan)
    rows, batch, free, lanes = codes.shape
    shape = batch, -(-free // width)
    elements = np.zeros((*shape, rows, lanes, width), np.uint16)
    scales, spans = np.zeros((*shape, len(scale_codes), width), np.uint8), np.empty((2, *shape, rows), np.int64)
    bytes_of = [owned(each.astype(np.uint8, copy=False)) for each in (codes, scale_codes)]

    def work(part: slice) -> None:
        _pack(*bytes_of, table, last, above, scale_exponents, elements, scales, *spans, part.start, part.stop)

    in_parallel(work, spread(batch * shape[1], codes.size))
    return elements, scales, *spans


@cache
def _elements(fmt: FloatFormat, subnormals: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, for every code, its BF16 code, the exponent of its last place, and one that is above the value's."""
    values = decode_array(fmt, np.arange(1 << fmt.width))
    if not subnormals:
        values = flushed(fmt, values)
    counts = np.isfinite(values) & (values != 0)
    above = np.frexp(np.where(counts, values, 1.0))[1].astype(np.int64)
    # The sum with a scale's exponent stays beyond every real one.
    nothing = 2 * _NO_EXPONENT
    return (
        encode_array(BF16, values, dtype=np.uint16),
        np.where(counts, np.maximum(above - 1, fmt.emin) - fmt.fraction_bits, nothing),
        np.where(counts, above, -nothing),
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
def _pack(codes, scale_codes, table, last, above, scale_exponents, elements, scales, lowest, highest, first, stop):
    """Write blocks of what `packed` returns: those from `first` to `stop`, counted over all of the batch."""
    width, group = elements.shape[4], codes.shape[0] // scale_codes.shape[0]
    for unit in range(first, stop):
        b, block = unit // elements.shape[1], unit % elements.shape[1]
        start = block * width
        count = min(width, codes.shape[2] - start)
        for p in range(codes.shape[0]):
            low, high = _NO_EXPONENT, -_NO_EXPONENT
            for i in range(count):
                scale = scale_codes[p // group, b, start + i]
                scales[b, block, p // group, i] = scale
                own_low, own_high = 2 * _NO_EXPONENT, -2 * _NO_EXPONENT
                for lane in range(4):
                    code = codes[p, b, start + i, lane]
                    elements[b, block, p, lane, i] = table[code]
                    own_low, own_high = min(own_low, last[code]), max(own_high, above[code])
                low, high = min(low, own_low + scale_exponents[scale]), max(high, own_high + scale_exponents[scale])
            lowest[b, block, p], highest[b, block, p] = low, high


@kernel(fused=True)
def _chain(
    x, x_scales, x_lowest, x_highest, y, y_scales, y_lowest, y_highest, scales, scale_exponents, x_emin, y_emin, fields,
    started, tile, result, top, bottom, first, stop
):  # fmt: skip
    """Write the parts of `result` [B, M, N] of two sides of `packed`, from part `first` to `stop`.

    A part has the columns of a block and up to `CHUNK` blocks of rows. numba compiles the cheap steps or the fourth one, by
    the type of `fields`.
    """
    x_numbers, y_numbers = np.empty((tile, 4, ROWS)), np.empty((tile, 4, COLUMNS))
    partial, steps = np.zeros((ROWS, COLUMNS), np.float32), np.empty(tile, np.int64)
    if fields is not None:
        x_exponents, y_exponents = np.empty((tile, 4, ROWS), np.int64), np.empty((tile, 4, COLUMNS), np.int64)
    depth, chunks = x.shape[2], (x.shape[1] + CHUNK - 1) // CHUNK
    for part in range(first, stop):
        b, n, chunk = part // (chunks * y.shape[1]), part // chunks % y.shape[1], part % chunks
        for start in range(0, depth, tile):
            rows = slice(start, min(start + tile, depth))
            _decode(y[b, n, rows], y_scales[b, n], start, depth, scales, y_numbers)
            if fields is not None:
                _exponents(y[b, n, rows], y_scales[b, n], start, depth, scale_exponents, y_emin, y_exponents)
            for m in range(chunk * CHUNK, min((chunk + 1) * CHUNK, x.shape[1])):
                out = result[b, top + m * ROWS : min(top + (m + 1) * ROWS, bottom), n * COLUMNS : (n + 1) * COLUMNS]
                _decode(x[b, m, rows], x_scales[b, m], start, depth, scales, x_numbers)
                partial[:] = 0
                if started:
                    copy_corner(out, partial)
                if fields is None:
                    choose_steps(
                        x_lowest[b, m, rows], x_highest[b, m, rows], y_lowest[b, n, rows], y_highest[b, n, rows],
                        SUM_BITS, started, steps
                    )  # fmt: skip
                    for p in range(rows.stop - start):
                        _row(x_numbers[p], y_numbers[p], steps[p], partial[: out.shape[0]])
                else:
                    _exponents(x[b, m, rows], x_scales[b, m], start, depth, scale_exponents, x_emin, x_exponents)
                    for p in range(rows.stop - start):
                        _other_row(
                            x_numbers[p], x_exponents[p], y_numbers[p], y_exponents[p], fields, partial[: out.shape[0]]
                        )
                put(partial, out, start > 0)


@piece
def _decode(elements, scales, start, depth, values, numbers):
    """Write elements, BF16 codes [rows, 4, width], times their scales; the first row is row `start` of `depth`."""
    group = depth // scales.shape[0]
    factors = np.empty(elements.shape[2])
    for p in range(elements.shape[0]):
        if p == 0 or (start + p) % group == 0:
            for i in range(factors.shape[0]):
                factors[i] = values[scales[(start + p) // group, i]]
        for lane in range(4):
            for i in range(factors.shape[0]):
                numbers[p, lane, i] = of_bfloat16(elements[p, lane, i]) * factors[i]


@piece
def _exponents(elements, scales, start, depth, scale_exponents, emin, exponents):
    """Write the exponents of DotNumerics' E of `_decode`'s numbers: a subnormal has emin, a zero none, as what is not finite."""
    group = depth // scales.shape[0]
    for p in range(elements.shape[0]):
        for lane in range(4):
            for i in range(elements.shape[2]):
                element = of_bfloat16(elements[p, lane, i])
                own = max(_exponent(element), emin) + scale_exponents[scales[(start + p) // group, i]]
                exponents[p, lane, i] = own if (element != 0.0) & (element - element == 0.0) else -2 * _NO_EXPONENT


@piece
def of_bfloat16(code):
    """Return the number of a BF16 code, float64."""
    return np.float64(np.uint32(np.uint32(code) << 16).view(np.float32))


@piece
def put(sums, psum, adds):
    """Write sums to the rows and columns that both have, or add them to what is there in FP32; NaN as the one NaN."""
    for m in range(psum.shape[0]):
        for j in range(psum.shape[1]):
            total = psum[m, j] + sums[m, j] if adds else sums[m, j]
            psum[m, j] = _NAN if np.isnan(total) else total


@piece
def _row(x, y, step, partial):
    """Add a row of the array to the partial sums of a block by one of the three cheap steps."""
    for r in range(partial.shape[0]):
        x0, x1, x2, x3 = x[0, r], x[1, r], x[2, r], x[3, r]
        if step == PLAIN:
            for i in range(COLUMNS):
                total = x2 * y[2, i] + (x3 * y[3, i] + np.float64(partial[r, i]))
                partial[r, i] = np.float32(x0 * y[0, i] + (x1 * y[1, i] + total))
        elif step == NARROW:
            for i in range(COLUMNS):
                total = x0 * y[0, i] + x1 * y[1, i] + (x2 * y[2, i] + x3 * y[3, i])
                total, error = two_sum(total, np.float64(partial[r, i]))
                partial[r, i] = np.float32(to_odd(total, error))
        else:
            for i in range(COLUMNS):
                a, b, c, d = x0 * y[0, i], x1 * y[1, i], x2 * y[2, i], x3 * y[3, i]
                partial[r, i] = np.float32(sum_to_odd(a, b, c, d, np.float64(partial[r, i])))


@piece
def _other_row(x, x_exponents, y, y_exponents, fields, partial):
    """Add a row of the array to the partial sums of a block by the numerics' fields."""
    align, align_to_nearest, fraction_bits, to_nearest, subnormals, to_infinity = fields
    for r in range(partial.shape[0]):
        for i in range(COLUMNS):
            own = np.float64(partial[r, i])
            if not subnormals and abs(own) < 2.0**_EMIN:
                own = math.copysign(0.0, own)
            a, b = x[0, r] * y[0, i], x[1, r] * y[1, i]
            c, d = x[2, r] * y[2, i], x[3, r] * y[3, i]
            ieee = a + b + (c + d) + own
            if align >= 0:
                largest = -_NO_EXPONENT if own == 0.0 else max(_exponent(own), _EMIN)
                for lane in range(4):
                    largest = max(largest, x_exponents[lane, r] + y_exponents[lane, i])
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
def choose_steps(x_lowest, x_highest, y_lowest, y_highest, sum_bits, started, steps):
    """Write the step of each row of a block: the cheapest one that is exact.

    `sum_bits` are those by which the sum of a row's products is wider than one of them.
    """
    # Sums are multiples of 2**grid and below `bound`; FP32 codes from elsewhere may be anything.
    grid = _EMIN - _FRACTION if started else _NO_EXPONENT
    bound = 2.0 ** (_EMAX + 1) if started else 0.0
    for p in range(x_lowest.shape[0]):
        last = x_lowest[p] + y_lowest[p]
        above = x_highest[p] + y_highest[p] + sum_bits
        if above <= last:
            # No product counts: a side is 0 or not finite.
            steps[p] = PLAIN
        else:
            grid = min(grid, last)
            bound += power_of_two(above)
            if bound <= power_of_two(grid + _EXACT_BITS):
                steps[p] = PLAIN
            elif above - last <= _EXACT_BITS:
                steps[p] = NARROW
            else:
                steps[p] = WIDE
            # A sum that rounds up is larger by 2**-24 of itself at most.
            bound += bound * 2.0**-_FRACTION


@piece
def power_of_two(exponent):
    """Return the float64 of a power of two in its normal range."""
    return value64((np.int64(exponent) + 1023) << 52)


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
