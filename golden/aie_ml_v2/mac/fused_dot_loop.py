"""AIE-ML v2's matrices on native products: the steps of K of every lane.

Results are bit-identical to `fused_dot` and `sparse_dot` on each step of K. Its own kernels round to nearest even and sum
a block pair's products together, without loss; `add_blocks` and `add_floats` are those for other numerics.

Exactness. float64 holds every term, sum and power of two here. With the largest exponent E, terms are rounded to the grid
``2**(E - F)``, F the align_fraction_bits, of 26 at most. A product of floats is below ``2**(E + 2)`` and the sum of a block
pair at most ``2**(E + 6)``, so that adding ``1.5 * 2**52 * 2**(E - F)`` to it gives a float64 whose last place is the grid:
the addition rounds to nearest even, once, and taking the constant away again is exact. A product of floats is exact too, so
it may be fused with that addition. Eight rounded products, or the sum of a block pair, and an accumulator are below
``2**(E + 7)``, multiples of the grid and so of at most 33 bits: their sum is exact in any order. Codes of m magnitude bits, 7 at most, are doubled, which makes them at most 2**(m + 1), as -2**m is; the sum of
16 products, at most 2**20, is computed in float32, which holds every integer up to 2**24. The sum on the grid is rounded to
FP32 once, by its conversion. FP32 holds the numbers of all formats of floats, so operands are kept in it; their powers of two
follow from them and from the format's smallest exponent. Exponents are those of `AieNumerics` less 255: a product has the sum of its operands', before
it is normalised, and an accumulator its own.

Infinity and NaN. float64's products and sums of them are the lane's: 0 * infinity and infinity - infinity are NaN. `LARGEST`
keeps the constant finite, so that nothing else becomes NaN. The power of two of a float's infinity or NaN is infinity: its
product with 0 is NaN where the product of the numbers is. A NaN gets its code when the result is written.

Sparse B. A slot's product takes the left entity at the slot's position; an empty slot's is 0 * 0, whatever A holds there, and
has the exponent of two zeros, which `float_zero_term` may count. B expanded to dense would not do: its zeros would have
products with A's infinities, and exponents of A's numbers.
"""

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import MX4, MX_BLOCK, MX_NAN_EXPONENT, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.mac.fused_dot import splits
from bitpath.golden.aie_ml_v2.mac.sparsity import SparseVector, slot_positions, with_empty
from bitpath.golden.aie_ml_v2.operands.layout import MxBlocks
from bitpath.golden.arrays.bits import RISES, code64, value64
from bitpath.golden.arrays.codec import codes_of, decode_array, format_of
from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.arrays.parallel import Progress, in_blocks, in_parallel, owned, spread
from bitpath.golden.formats.catalogue import FP32, FloatFormat

# Pieces of the kernels of AIE-ML v2's float and block matrices: sizes, powers of two, left operands, results.


SHARE, COLUMNS = 64, 128
"""Rows that a core takes at a time, and columns of a block: its accumulators fit in the L1 cache."""
DEPTH = 8
"""Products of floats that are added at once."""
ENTITIES = 2 * DEPTH + 1
"""Left operands of a step on sparse B: two for each slot, and the zero of empty slots."""
LARGEST = 2.0**300
"""Power of two beyond those of all numbers here: products are below 2**260."""
POWER = 0x7FF << 52
"""Mask of a float64's exponent field: what it leaves of a normal number is the power of two below it."""
WIDER_BIAS = 1023 - FP32.bias
"""What float64's bias is larger by than that of a block's exponent."""
NAN = np.uint32(FP32.nan_code).view(np.float32)


@piece
def power_of(accumulator):
    """Return the power of two of a normal number's exponent; 0 of 0."""
    return value64(code64(accumulator) & POWER)


@piece
def place_of(part, blocks, top, bottom):
    """Return the product, the block of columns and the first row, from `top` on, of a part."""
    shares = (bottom - top + SHARE - 1) // SHARE
    return part // (shares * blocks), part // shares % blocks, part % shares * SHARE


@piece
def power_of_block(exponent, nan_blocks):
    """Return the power of two of a block's exponent, NaN of a NaN block."""
    power = value64(np.int64(exponent) + WIDER_BIAS << 52)
    return np.nan if (exponent == MX_NAN_EXPONENT) & nan_blocks else power


@piece
def counted(power, exponent, zero_term):
    """Return the power of two that counts where the sum of a block pair is 0."""
    return power if (exponent > 0) & zero_term else 0.0


@piece
def power_of_float(number, smallest, zero_term):
    """Return the power of two of a float's exponent, which a subnormal has too; 0 of no term."""
    power = max(power_of(number), smallest)
    return power if (number != 0.0) | zero_term else 0.0


@piece
def decode_left(numbers, smallest, zero_term, left, powers):
    """Write left floats [steps, entities] as float64, and their powers of two."""
    for step in range(numbers.shape[0]):
        for i in range(numbers.shape[1]):
            left[step, i] = numbers[step, i]
            powers[step, i] = power_of_float(np.float64(numbers[step, i]), smallest, zero_term)


@piece
def decode_right(numbers, smallest, zero_term, right, powers):
    """Write right floats [steps, DEPTH, COLUMNS] as float64, and their powers of two."""
    for step in range(numbers.shape[0]):
        for i in range(DEPTH):
            for j in range(COLUMNS):
                right[step, i, j] = numbers[step, i, j]
                powers[step, i, j] = power_of_float(np.float64(numbers[step, i, j]), smallest, zero_term)


@piece
def left_of(x, places, step, i, j):
    """Return the left operand of a product."""
    if places is None:
        return x[step, i]
    return x[step, places[step, i, j]]


@piece
def write(accumulators, result):
    """Copy accumulators, all NaNs as one."""
    for m in range(result.shape[0]):
        for j in range(result.shape[1]):
            accumulator = accumulators[m, j]
            result[m, j] = NAN if np.isnan(accumulator) else accumulator


# AIE-ML v2's matrices on native products in any rounding: the steps of K of every lane.
#
# Results are bit-identical to `fused_dot` and `sparse_dot` on each step of K; takes what `fused_dot_loop` prepares.
#
# Exactness. Terms are divided by the grid, a power of two, so they keep their bits, of 33 at most; `_whole` rounds them to integers.
# It compares what lies above the integer below with a threshold. The difference is exact unless the term is below
# 2**-19; then it rounds to a number near 0 or 1, on the same side of the threshold. The sum, below 2**38, is scaled to
# 24 bits and rounded in the same way; the product with the grid is exact, and FP32 holds it or overflows. Infinity and
# NaN: as there.


LEADING = 2.0**FP32.fraction_bits
"""Weight of the leading bit of FP32's significand."""
MIN_NORMAL = 2.0**FP32.emin
HIGHEST_SUM = 2.0**60
"""Power of two beyond those of all sums on the grid."""
Rules = tuple[float, ...]


def fields(numerics: AieNumerics) -> tuple[float, bool, Rules, Rules, Rules]:
    """Return grid steps of a largest exponent of 0, the sign of flushed zeros, and rules of terms, accumulators and results."""
    return (
        2.0**numerics.align_fraction_bits,
        numerics.flushed_zero_keeps_sign,
        _rules(numerics.align_rounding),
        _rules(numerics.accumulator_align_rounding),
        _rules(numerics.result_rounding),
    )


def _rules(code: RoundingCode) -> Rules:
    """Return the four thresholds, in the order of the bits of `RISES`, above which a number goes up."""
    to_nearest, ups = RISES[code.mode]
    stays, rises = (0.5, np.nextafter(0.5, 0)) if to_nearest else (1.0, 0.0)
    return tuple(float(rises if ups >> bit & 1 else stays) for bit in range(4))


@piece
def _whole(value, rules):
    below = np.floor(value)
    odd = below - 2.0 * np.floor(below * 0.5) > 0.5
    of_even = rules[2] if value < 0.0 else rules[0]
    of_odd = rules[3] if value < 0.0 else rules[1]
    return below + (1.0 if value - below > (of_odd if odd else of_even) else 0.0)


@piece
def _normalised(total, grid, rules, keep_sign):
    """Return a sum in steps of the grid as FP32."""
    top = min(max(power_of(total), 1.0), HIGHEST_SUM)
    value = _whole(total * (LEADING / top), rules) * (top / LEADING) * grid
    flushed = np.copysign(0.0, value) if keep_sign else 0.0
    return np.float32(flushed if abs(value) < MIN_NORMAL else value)


@piece
def _bounded(largest):
    """Return a power of two that is neither 0, of no term, nor infinite."""
    return min(max(largest, 1.0 / LARGEST), LARGEST)


@kernel
def add_blocks(
    x, x_exponents, y, y_exponents, last_place, size, coarse, nan_blocks, zero_term, steps, keep_sign, terms, own, last,
    result, top, bottom, first, stop
):  # fmt: skip
    """As `_blocks`, in sums of `size` products, each a multiple of `coarse`."""
    accumulators = np.zeros((SHARE, COLUMNS), np.float32)
    elements = x.shape[3]
    sums = np.empty((elements, COLUMNS), np.float32)
    scales, largest, totals, present = np.empty(COLUMNS), np.empty(COLUMNS), np.empty(COLUMNS), np.empty(COLUMNS)
    powers, counts = np.empty(COLUMNS), np.empty(COLUMNS)
    groups = elements // size
    for part in range(first, stop):
        b, n, chunk = place_of(part, y.shape[1], top, bottom)
        rows = min(SHARE, bottom - top - chunk)
        accumulators[:] = 0
        for k in range(x.shape[2]):
            for j in range(COLUMNS):
                powers[j] = power_of_block(y_exponents[b, n, k, j], nan_blocks)
                counts[j] = counted(powers[j], y_exponents[b, n, k, j], zero_term)
            for m in range(rows):
                sums[:] = 0
                for i in range(elements):
                    for j in range(COLUMNS):
                        product = np.float64(x[b, chunk + m, k, i]) * np.float64(y[b, n, k, i, j])
                        sums[i // size, j] += np.floor(product / coarse) * coarse
                present[:] = 0
                for group in range(groups):
                    for j in range(COLUMNS):
                        present[j] = max(present[j], abs(sums[group, j]))
                power = power_of_block(x_exponents[b, chunk + m, k], nan_blocks)
                count = counted(power, x_exponents[b, chunk + m, k], zero_term)
                for j in range(COLUMNS):
                    accumulator = np.float64(accumulators[m, j])
                    scales[j] = power * powers[j]
                    pair = scales[j] if present[j] > 0.0 else count * counts[j]
                    largest[j] = _bounded(max(pair, power_of(accumulator)))
                    totals[j] = _whole(accumulator * (steps / largest[j]), own)
                for group in range(groups):
                    for j in range(COLUMNS):
                        term = sums[group, j] * (scales[j] * last_place)
                        totals[j] += _whole(term * (steps / largest[j]), terms)
                for j in range(COLUMNS):
                    accumulators[m, j] = _normalised(totals[j], largest[j] / steps, last, keep_sign)
        write(accumulators, result[b, top + chunk : top + chunk + rows, n * COLUMNS : (n + 1) * COLUMNS])


@kernel
def add_floats(
    x, y, positions, x_power, y_power, zero_term, steps, keep_sign, terms, own, last, result, top, bottom, first, stop
):  # fmt: skip
    """As `_floats`."""
    accumulators = np.zeros((SHARE, COLUMNS), np.float32)
    left, left_power = np.empty((1, ENTITIES)), np.empty((1, ENTITIES))
    right, right_power = np.empty((1, DEPTH, COLUMNS)), np.empty((1, DEPTH, COLUMNS))
    largest, totals = np.empty(COLUMNS), np.empty(COLUMNS)
    for part in range(first, stop):
        b, n, chunk = place_of(part, y.shape[1], top, bottom)
        rows = min(SHARE, bottom - top - chunk)
        accumulators[:] = 0
        for step in range(x.shape[2]):
            decode_right(y[b, n, step : step + 1], y_power, zero_term, right, right_power)
            places = None if positions is None else positions[b, n, step : step + 1]
            for m in range(rows):
                decode_left(x[b, chunk + m, step : step + 1], x_power, zero_term, left, left_power)
                for j in range(COLUMNS):
                    largest[j] = power_of(np.float64(accumulators[m, j]))
                for i in range(DEPTH):
                    for j in range(COLUMNS):
                        largest[j] = max(largest[j], left_of(left_power, places, 0, i, j) * right_power[0, i, j])
                for j in range(COLUMNS):
                    largest[j] = _bounded(largest[j])
                    totals[j] = _whole(accumulators[m, j] * (steps / largest[j]), own)
                for i in range(DEPTH):
                    for j in range(COLUMNS):
                        term = left_of(left, places, 0, i, j) * right[0, i, j]
                        totals[j] += _whole(term * (steps / largest[j]), terms)
                for j in range(COLUMNS):
                    accumulators[m, j] = _normalised(totals[j], largest[j] / steps, last, keep_sign)
        write(accumulators, result[b, top + chunk : top + chunk + rows, n * COLUMNS : (n + 1) * COLUMNS])


STEPS = 8
"""Steps of floats whose operands are decoded at a time: the right ones fit in the L2 cache."""
SMALLEST = (1 - 2.0**-25) * 2.0**FP32.emin
"""What lies below is rounded to less than FP32's smallest normal number, with any exponent."""


def _is_even(numerics: AieNumerics) -> bool:
    """Return True if alignment and result are rounded to nearest even."""
    even = RoundingCode.CONV_EVEN
    return numerics.align_rounding is numerics.accumulator_align_rounding is numerics.result_rounding is even


def prepared_blocks(b: MxBlocks) -> tuple[np.ndarray, ...]:
    """Return right blocks [B, N, K] as `multiply_blocks` takes them: doubled codes and exponents, 2.1 bytes an element."""
    return in_blocks(_doubled(b), COLUMNS), in_blocks(b.exponent, COLUMNS)


def multiply_blocks(
    numerics: AieNumerics,
    a: MxBlocks,
    right: tuple[np.ndarray | None, ...],
    result: np.ndarray,
    rows: slice,
    progress: Progress | None,
) -> None:
    """Write accumulators, rows of `result` float32 [B, M, N], of blocks [B, rows, K] and prepared ones."""
    fmt = a.fmt
    left = owned(_doubled(a)), owned(a.exponent)
    # A product of doubled codes has 2 * m fraction bits.
    last_place = 2.0 ** -(2 * fmt.magnitude_bits)
    # MX4 codes are multiplied with zeros appended below, which receive the bits of a right shift.
    coarse = 1.0 if numerics.mx_lossless_shift or fmt is MX4 else 4.0
    size = fmt.elements // (2 if splits(numerics, a) else 1) if numerics.mx_post_add_first else 1
    plain = _is_even(numerics) and coarse == 1.0 and size == fmt.elements
    flags = numerics.mx_nan_block, numerics.mx_zero_term

    def work(part: slice) -> None:
        place = result, rows.start, rows.stop, part.start, part.stop
        if plain:
            _blocks(*left, *right, last_place, *flags, *_fields(numerics), *place)
        else:
            add_blocks(*left, *right, last_place, size, coarse, *flags, *fields(numerics), *place)

    in_parallel(work, _parts(result, rows, a.shape[2] * fmt.elements, progress), progress)


def _doubled(blocks: MxBlocks) -> np.ndarray:
    """Return codes shifted left by 1 less their element shifts, int16."""
    return blocks.codes.astype(np.int16) << 1 - blocks.element_shifts


def prepared_floats(b: np.ndarray | SparseVector) -> tuple[np.ndarray | None, ...]:
    """Return the numbers of right floats [B, N, K] in steps, float32, and which left entity of a step multiplies each.

    Of sparse ones, slots [B, N, steps, 4, 2], each slot has a number. Those of dense floats have their own place: None.
    """
    if not isinstance(b, SparseVector):
        return in_blocks(_in_steps(_numbers(b)), COLUMNS), None
    numbers = _numbers(b.slots)
    return in_blocks(numbers.reshape(*numbers.shape[:-2], -1), COLUMNS), in_blocks(
        slot_positions(b).astype(np.uint8), COLUMNS
    )


def multiply_floats(
    numerics: AieNumerics,
    a: np.ndarray,
    right: tuple[np.ndarray | None, ...],
    fmt: FloatFormat,
    result: np.ndarray,
    rows: slice,
    progress: Progress | None,
) -> None:
    """Write accumulators, rows of `result` float32 [B, M, N], of floats [B, rows, K] and prepared ones of a format."""
    y, positions = right
    x = _in_steps(_numbers(a), DEPTH if positions is None else ENTITIES - 1)
    x = owned(x if positions is None else with_empty(x))
    powers = [2.0**each.emin for each in (format_of(a.dtype), fmt)]
    options = *powers, numerics.float_zero_term

    def work(part: slice) -> None:
        place = result, rows.start, rows.stop, part.start, part.stop
        if _is_even(numerics):
            _floats(x, y, positions, *options, *_fields(numerics), *place)
        else:
            add_floats(x, y, positions, *options, *fields(numerics), *place)

    in_parallel(work, _parts(result, rows, x.shape[2] * DEPTH, progress), progress)


def _numbers(floats: np.ndarray) -> np.ndarray:
    """Return the numbers of floats of a format, float32, which holds all of them."""
    return decode_array(format_of(floats.dtype), codes_of(floats)).astype(np.float32)


def _in_steps(rows: np.ndarray, entities: int = DEPTH) -> np.ndarray:
    """Return [B, R, K] as [B, R, steps, entities]."""
    return rows.reshape(*rows.shape[:2], -1, entities)


def _fields(numerics: AieNumerics) -> tuple[float, bool]:
    """Return the constant that rounds onto the grid of a largest exponent of 0, and whether a flushed zero keeps its sign."""
    return 1.5 * 2.0 ** (52 - numerics.align_fraction_bits), numerics.flushed_zero_keeps_sign


def _parts(result: np.ndarray, rows: slice, depth: int, progress: Progress | None) -> list[slice]:
    """Cut the work on rows of a result into parts: blocks of columns by shares of rows."""
    batch, _, columns = result.shape
    shares, blocks = -(-(rows.stop - rows.start) // SHARE), -(-columns // COLUMNS)
    steps = batch * (rows.stop - rows.start) * columns * depth
    return spread(batch * blocks * shares, steps, None if progress is None else batch * shares)


@piece
def _rounded(total, keep_sign):
    """Return a sum on the grid as FP32."""
    flushed = np.copysign(0.0, total) if keep_sign else 0.0
    return np.float32(flushed if abs(total) < SMALLEST else total)


@piece
def _eight(x, y, first, j):
    """Return the sum of eight products of codes, float32."""
    total = np.float32(x[first]) * y[first, j]
    total += np.float32(x[first + 1]) * y[first + 1, j]
    total += np.float32(x[first + 2]) * y[first + 2, j]
    total += np.float32(x[first + 3]) * y[first + 3, j]
    total += np.float32(x[first + 4]) * y[first + 4, j]
    total += np.float32(x[first + 5]) * y[first + 5, j]
    total += np.float32(x[first + 6]) * y[first + 6, j]
    return total + np.float32(x[first + 7]) * y[first + 7, j]


@kernel(fused=True)
def _blocks(
    x, x_exponents, y, y_exponents, last_place, nan_blocks, zero_term, unit, keep_sign, result, top, bottom, first, stop
):  # fmt: skip
    """x int16 [B, M, K, 16 | 8], y [B, blocks, K, 16 | 8, COLUMNS]; exponents [B, M, K] and [B, blocks, K, COLUMNS].

    Write parts `first` to `stop` of rows `top` to `bottom` of the result.
    """
    accumulators = np.zeros((SHARE, COLUMNS), np.float32)
    sums, right = np.empty(COLUMNS, np.float32), np.empty((MX_BLOCK, COLUMNS), np.float32)
    powers, counts = np.empty(COLUMNS), np.empty(COLUMNS)
    for part in range(first, stop):
        b, n, chunk = place_of(part, y.shape[1], top, bottom)
        rows = min(SHARE, bottom - top - chunk)
        accumulators[:] = 0
        for k in range(x.shape[2]):
            for i in range(x.shape[3]):
                for j in range(COLUMNS):
                    right[i, j] = y[b, n, k, i, j]
            for j in range(COLUMNS):
                powers[j] = power_of_block(y_exponents[b, n, k, j], nan_blocks)
                counts[j] = counted(powers[j], y_exponents[b, n, k, j], zero_term)
            for m in range(rows):
                own = x[b, chunk + m, k]
                if own.shape[0] == DEPTH:
                    for j in range(COLUMNS):
                        sums[j] = _eight(own, right, 0, j)
                else:
                    for j in range(COLUMNS):
                        sums[j] = _eight(own, right, 0, j) + _eight(own, right, DEPTH, j)
                power = power_of_block(x_exponents[b, chunk + m, k], nan_blocks)
                count = counted(power, x_exponents[b, chunk + m, k], zero_term)
                for j in range(COLUMNS):
                    pair, accumulator = np.float64(sums[j]), np.float64(accumulators[m, j])
                    scale = power * powers[j]
                    largest = max(scale if pair != 0.0 else count * counts[j], power_of(accumulator))
                    up = min(largest, LARGEST) * unit
                    total = (pair * (scale * last_place) + up - up) + (accumulator + up - up)
                    accumulators[m, j] = _rounded(total, keep_sign)
        write(accumulators, result[b, top + chunk : top + chunk + rows, n * COLUMNS : (n + 1) * COLUMNS])


@kernel(fused=True)
def _floats(x, y, positions, x_power, y_power, zero_term, unit, keep_sign, result, top, bottom, first, stop):
    """Numbers x [B, M, steps, entities], y [B, blocks, steps, DEPTH, COLUMNS] and their positions; smallest powers of two.

    Write parts `first` to `stop` of rows `top` to `bottom` of the result.
    """
    accumulators, ups = np.zeros((SHARE, COLUMNS), np.float32), np.empty(COLUMNS)
    left, left_power = np.empty((STEPS, ENTITIES)), np.empty((STEPS, ENTITIES))
    right, right_power = np.empty((STEPS, DEPTH, COLUMNS)), np.empty((STEPS, DEPTH, COLUMNS))
    for part in range(first, stop):
        b, n, chunk = place_of(part, y.shape[1], top, bottom)
        rows = min(SHARE, bottom - top - chunk)
        accumulators[:] = 0
        for start in range(0, x.shape[2], STEPS):
            decode_right(y[b, n, start : start + STEPS], y_power, zero_term, right, right_power)
            places = None if positions is None else positions[b, n, start : start + STEPS]
            for m in range(rows):
                own = x[b, chunk + m, start : start + STEPS]
                decode_left(own, x_power, zero_term, left, left_power)
                for step in range(own.shape[0]):
                    _float_step(
                        left, left_power, right, right_power, places, step, unit, keep_sign, ups, accumulators[m]
                    )
        write(accumulators, result[b, top + chunk : top + chunk + rows, n * COLUMNS : (n + 1) * COLUMNS])


@piece
def _float_step(x, x_powers, y, y_powers, places, step, unit, keep_sign, ups, accumulators):
    """Add eight products of one row to its accumulators."""
    for j in range(COLUMNS):
        largest = power_of(np.float64(accumulators[j]))
        largest = max(largest, left_of(x_powers, places, step, 0, j) * y_powers[step, 0, j])
        largest = max(largest, left_of(x_powers, places, step, 1, j) * y_powers[step, 1, j])
        largest = max(largest, left_of(x_powers, places, step, 2, j) * y_powers[step, 2, j])
        largest = max(largest, left_of(x_powers, places, step, 3, j) * y_powers[step, 3, j])
        largest = max(largest, left_of(x_powers, places, step, 4, j) * y_powers[step, 4, j])
        largest = max(largest, left_of(x_powers, places, step, 5, j) * y_powers[step, 5, j])
        largest = max(largest, left_of(x_powers, places, step, 6, j) * y_powers[step, 6, j])
        largest = max(largest, left_of(x_powers, places, step, 7, j) * y_powers[step, 7, j])
        ups[j] = min(largest, LARGEST) * unit
    for j in range(COLUMNS):
        up = ups[j]
        total = np.float64(accumulators[j]) + up - up
        total += left_of(x, places, step, 0, j) * y[step, 0, j] + up - up
        total += left_of(x, places, step, 1, j) * y[step, 1, j] + up - up
        total += left_of(x, places, step, 2, j) * y[step, 2, j] + up - up
        total += left_of(x, places, step, 3, j) * y[step, 3, j] + up - up
        total += left_of(x, places, step, 4, j) * y[step, 4, j] + up - up
        total += left_of(x, places, step, 5, j) * y[step, 5, j] + up - up
        total += left_of(x, places, step, 6, j) * y[step, 6, j] + up - up
        total += left_of(x, places, step, 7, j) * y[step, 7, j] + up - up
        accumulators[j] = _rounded(total, keep_sign)
