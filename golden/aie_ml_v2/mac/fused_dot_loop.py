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
FP32 once, by its conversion. Exponents are those of `AieNumerics` less 255: a product has the sum of its operands', before
it is normalised, and an accumulator its own.

Infinity and NaN. float64's products and sums of them are the lane's: 0 * infinity and infinity - infinity are NaN. `LARGEST`
keeps the constant finite, so that nothing else becomes NaN. A NaN gets its code when the result is written.

Sparse B. A slot's product takes the left entity at the slot's position; an empty slot's is 0 * 0, whatever A holds there, and
has the exponent of two zeros, which `float_zero_term` may count. B expanded to dense would not do: its zeros would have
products with A's infinities, and exponents of A's numbers.
"""

from functools import cache

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import MX4, MX_BLOCK, MX_NAN_EXPONENT, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.mac.fused_dot import splits
from bitpath.golden.aie_ml_v2.mac.sparsity import SparseVector, slot_positions, with_empty
from bitpath.golden.aie_ml_v2.operands.layout import MxBlocks
from bitpath.golden.arrays.bits import RISES, code64, value64
from bitpath.golden.arrays.codec import codes_of, decode_array, format_of
from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.arrays.parallel import Progress, cuts, in_blocks, in_parallel, owned, threads
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
NAN = np.uint32(FP32.nan_code).view(np.float32)


@piece
def power_of(accumulator):
    """Return the power of two of a normal number's exponent; 0 of 0."""
    return value64(code64(accumulator) & POWER)


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
    x, x_powers, x_counts, y, y_powers, y_counts, last_place, size, coarse, steps, keep_sign, terms, own, last, result
):
    """As `fused_dot_loop`'s, in sums of `size` products, each a multiple of `coarse`."""
    accumulators = np.zeros((SHARE, COLUMNS), np.float32)
    sums = np.empty((MX_BLOCK, COLUMNS), np.float32)
    scales, largest, totals, present = np.empty(COLUMNS), np.empty(COLUMNS), np.empty(COLUMNS), np.empty(COLUMNS)
    groups = MX_BLOCK // size
    for n in range(y.shape[0]):
        accumulators[:] = 0
        for k in range(x.shape[1]):
            for m in range(result.shape[0]):
                sums[:] = 0
                for i in range(MX_BLOCK):
                    for j in range(COLUMNS):
                        product = x[m, k, i] * y[n, k, i, j]
                        sums[i // size, j] += np.floor(product / coarse) * coarse
                present[:] = 0
                for group in range(groups):
                    for j in range(COLUMNS):
                        present[j] = max(present[j], abs(sums[group, j]))
                for j in range(COLUMNS):
                    accumulator = np.float64(accumulators[m, j])
                    scales[j] = x_powers[m, k] * y_powers[n, k, j]
                    counted = scales[j] if present[j] > 0.0 else x_counts[m, k] * y_counts[n, k, j]
                    largest[j] = _bounded(max(counted, power_of(accumulator)))
                    totals[j] = _whole(accumulator * (steps / largest[j]), own)
                for group in range(groups):
                    for j in range(COLUMNS):
                        term = sums[group, j] * (scales[j] * last_place)
                        totals[j] += _whole(term * (steps / largest[j]), terms)
                for j in range(COLUMNS):
                    accumulators[m, j] = _normalised(totals[j], largest[j] / steps, last, keep_sign)
        write(accumulators, result[:, n * COLUMNS : (n + 1) * COLUMNS])


@piece
def _decode(codes, values, powers, numbers, own_powers):
    """Look up the numbers and the powers of two of codes."""
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            numbers[i, j] = values[codes[i, j]]
            own_powers[i, j] = powers[codes[i, j]]


@kernel
def add_floats(x, y, positions, x_values, x_powers, y_values, y_powers, steps, keep_sign, terms, own, last, result):
    """As `fused_dot_loop`'s."""
    accumulators = np.zeros((SHARE, COLUMNS), np.float32)
    left, left_power = np.empty((1, ENTITIES)), np.empty((1, ENTITIES))
    right, right_power = np.zeros((DEPTH, COLUMNS)), np.zeros((DEPTH, COLUMNS))
    places = None if positions is None else np.zeros((1, DEPTH, COLUMNS), np.int64)
    largest, totals = np.empty(COLUMNS), np.empty(COLUMNS)
    for n in range(0, y.shape[1], COLUMNS):
        accumulators[:] = 0
        for step in range(x.shape[1]):
            part = y[step * DEPTH : (step + 1) * DEPTH, n : n + COLUMNS]
            _decode(part, y_values, y_powers, right, right_power)
            if positions is not None:
                places[0, :, : part.shape[1]] = positions[step * DEPTH : (step + 1) * DEPTH, n : n + COLUMNS]
            for m in range(result.shape[0]):
                _decode(x[m, step : step + 1], x_values, x_powers, left, left_power)
                for j in range(COLUMNS):
                    largest[j] = power_of(np.float64(accumulators[m, j]))
                for i in range(DEPTH):
                    for j in range(COLUMNS):
                        largest[j] = max(largest[j], left_of(left_power, places, 0, i, j) * right_power[i, j])
                for j in range(COLUMNS):
                    largest[j] = _bounded(largest[j])
                    totals[j] = _whole(accumulators[m, j] * (steps / largest[j]), own)
                for i in range(DEPTH):
                    for j in range(COLUMNS):
                        term = left_of(left, places, 0, i, j) * right[i, j]
                        totals[j] += _whole(term * (steps / largest[j]), terms)
                for j in range(COLUMNS):
                    accumulators[m, j] = _normalised(totals[j], largest[j] / steps, last, keep_sign)
        write(accumulators, result[:, n : n + COLUMNS])


STEPS = 8
"""Steps of floats whose operands are decoded at a time: the right ones fit in the L2 cache."""
SMALLEST = (1 - 2.0**-25) * 2.0**FP32.emin
"""What lies below is rounded to less than FP32's smallest normal number, with any exponent."""


def _is_even(numerics: AieNumerics) -> bool:
    """Return True if alignment and result are rounded to nearest even."""
    even = RoundingCode.CONV_EVEN
    return numerics.align_rounding is numerics.accumulator_align_rounding is numerics.result_rounding is even


def prepared_blocks(numerics: AieNumerics, b: MxBlocks) -> list[np.ndarray]:
    """Return right blocks [K, N/n, n, 1] as `multiply_blocks` takes them."""
    depth = b.shape[0]
    codes = in_blocks(_doubled(b).reshape(depth, -1, MX_BLOCK).swapaxes(1, 2), COLUMNS).astype(np.float32)
    return [codes, *(in_blocks(each.reshape(depth, -1), COLUMNS) for each in _powers(numerics, b))]


def multiply_blocks(
    numerics: AieNumerics, a: MxBlocks, right: list[np.ndarray], columns: int, progress: Progress | None
) -> np.ndarray:
    """Return accumulators float32 [M, N] of blocks [M/m, K, m, 1] and prepared ones of N columns."""
    depth = a.shape[1]
    x = _doubled(a).swapaxes(1, 2).reshape(-1, depth, MX_BLOCK).astype(np.float32)
    # A product of doubled codes has 2 * m fraction bits.
    x_powers = [each.swapaxes(1, 2).reshape(-1, depth) for each in _powers(numerics, a)]
    last_place = 2.0 ** -(2 * a.fmt.magnitude_bits)
    result = np.zeros((len(x), columns), np.float32)
    # MX4 codes are multiplied with zeros appended below, which receive the bits of a right shift.
    coarse = 1.0 if numerics.mx_lossless_shift or a.fmt is MX4 else 4.0
    size = MX_BLOCK // (2 if splits(numerics, a) else 1) if numerics.mx_post_add_first else 1
    plain = _is_even(numerics) and coarse == 1.0 and size == MX_BLOCK

    def work(share: slice) -> None:
        left = (owned(each[share]) for each in (x, *x_powers))
        if plain:
            _blocks(*left, *right, last_place, *_fields(numerics), result[share])
        else:
            add_blocks(*left, *right, last_place, size, coarse, *fields(numerics), result[share])

    in_parallel(work, _shares(len(x)), progress)
    return result


def _doubled(blocks: MxBlocks) -> np.ndarray:
    """Return codes shifted left by 1 less their element shifts, int16, with zeros where a block has less than 16."""
    codes = blocks.codes.astype(np.int16) << 1 - blocks.element_shifts
    missing = MX_BLOCK - blocks.fmt.elements
    return np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, missing)]) if missing else codes


def _powers(numerics: AieNumerics, blocks: MxBlocks) -> tuple[np.ndarray, np.ndarray]:
    """Return blocks' powers of two, NaN of a NaN block, and those that count where the sum of a block pair is 0."""
    exponent = blocks.exponent.astype(np.int32)
    powers = np.ldexp(1.0, exponent - FP32.bias)
    if numerics.mx_nan_block:
        powers[exponent == MX_NAN_EXPONENT] = np.nan
    return powers, np.where(exponent > 0, powers, 0.0) if numerics.mx_zero_term else np.zeros_like(powers)


def prepared_floats(b: np.ndarray | SparseVector) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the codes [K, N] of right floats [K/8, N/n, n, 8], and which left entity of a step multiplies each.

    Of sparse ones, slots [K/16, N/n, n, 4, 2], K counts the slots. Those of dense floats have their own number: None.
    """
    if not isinstance(b, SparseVector):
        return _by_rows(codes_of(b)), None
    slots = codes_of(b.slots)
    return _by_rows(slots.reshape(*slots.shape[:-2], -1)), _by_rows(slot_positions(b).astype(np.uint8))


def _by_rows(steps: np.ndarray) -> np.ndarray:
    """Return [K/8, N/n, n, 8] as [K, N]."""
    return owned(steps.transpose(0, 3, 1, 2)).reshape(steps.shape[0] * steps.shape[3], -1)


def multiply_floats(
    numerics: AieNumerics,
    a: np.ndarray,
    right: tuple[np.ndarray, np.ndarray | None],
    tables: list[np.ndarray],
    progress: Progress | None,
) -> np.ndarray:
    """Return accumulators float32 [M, N] of floats [M/m, K/k, m, k] and prepared ones, with `float_tables` of both."""
    y, positions = right
    codes = codes_of(a).swapaxes(1, 2).reshape(-1, a.shape[1], a.shape[3])
    result = np.zeros((len(codes), y.shape[1]), np.float32)

    def work(share: slice) -> None:
        x = codes[share] if positions is None else with_empty(codes[share])
        if _is_even(numerics):
            _floats(owned(x), y, positions, *tables, *_fields(numerics), result[share])
        else:
            add_floats(owned(x), y, positions, *tables, *fields(numerics), result[share])

    in_parallel(work, _shares(len(codes)), progress)
    return result


def float_tables(numerics: AieNumerics, *dtypes: np.dtype) -> list[np.ndarray]:
    """Return the tables of values and of powers of two of each dtype's codes."""
    return [table for dtype in dtypes for table in _tables(numerics, format_of(dtype))]


@cache
def _tables(numerics: AieNumerics, fmt: FloatFormat) -> tuple[np.ndarray, np.ndarray]:
    """Return, for every code, its value and the power of two of its exponent, which a subnormal has too; 0 of no term."""
    every = np.arange(1 << fmt.width)
    values = decode_array(fmt, every)
    exponent = np.maximum(every >> fmt.fraction_bits & fmt.exponent_mask, 1) - fmt.bias
    counts = numerics.float_zero_term | (values != 0)
    return values, np.where(counts, np.ldexp(1.0, exponent), 0.0)


def _fields(numerics: AieNumerics) -> tuple[float, bool]:
    """Return the constant that rounds onto the grid of a largest exponent of 0, and whether a flushed zero keeps its sign."""
    return 1.5 * 2.0 ** (52 - numerics.align_fraction_bits), numerics.flushed_zero_keeps_sign


def _shares(rows: int) -> list[slice]:
    return cuts(rows, min(SHARE, -(-rows // threads())))


@piece
def _rounded(total, keep_sign):
    """Return a sum on the grid as FP32."""
    flushed = np.copysign(0.0, total) if keep_sign else 0.0
    return np.float32(flushed if abs(total) < SMALLEST else total)


@kernel(fused=True)
def _blocks(x, x_powers, x_counts, y, y_powers, y_counts, last_place, unit, keep_sign, result):
    """x float32 [M, K, 16], y [blocks, K, 16, COLUMNS]; powers of two [M, K] and [blocks, K, COLUMNS]."""
    accumulators = np.zeros((SHARE, COLUMNS), np.float32)
    sums = np.empty(COLUMNS, np.float32)
    rows = result.shape[0]
    for n in range(y.shape[0]):
        accumulators[:] = 0
        for k in range(x.shape[1]):
            for m in range(rows):
                for j in range(COLUMNS):
                    total = x[m, k, 0] * y[n, k, 0, j]
                    total += x[m, k, 1] * y[n, k, 1, j]
                    total += x[m, k, 2] * y[n, k, 2, j]
                    total += x[m, k, 3] * y[n, k, 3, j]
                    total += x[m, k, 4] * y[n, k, 4, j]
                    total += x[m, k, 5] * y[n, k, 5, j]
                    total += x[m, k, 6] * y[n, k, 6, j]
                    total += x[m, k, 7] * y[n, k, 7, j]
                    total += x[m, k, 8] * y[n, k, 8, j]
                    total += x[m, k, 9] * y[n, k, 9, j]
                    total += x[m, k, 10] * y[n, k, 10, j]
                    total += x[m, k, 11] * y[n, k, 11, j]
                    total += x[m, k, 12] * y[n, k, 12, j]
                    total += x[m, k, 13] * y[n, k, 13, j]
                    total += x[m, k, 14] * y[n, k, 14, j]
                    sums[j] = total + x[m, k, 15] * y[n, k, 15, j]
                power, counts = x_powers[m, k], x_counts[m, k]
                for j in range(COLUMNS):
                    pair, accumulator = np.float64(sums[j]), np.float64(accumulators[m, j])
                    scale = power * y_powers[n, k, j]
                    largest = max(scale if pair != 0.0 else counts * y_counts[n, k, j], power_of(accumulator))
                    up = min(largest, LARGEST) * unit
                    total = (pair * (scale * last_place) + up - up) + (accumulator + up - up)
                    accumulators[m, j] = _rounded(total, keep_sign)
        write(accumulators, result[:, n * COLUMNS : (n + 1) * COLUMNS])


@kernel(fused=True)
def _floats(x, y, positions, x_values, x_powers, y_values, y_powers, unit, keep_sign, result):
    """Codes x [M, steps, entities], y [K, N] and their positions, and the tables of the formats."""
    accumulators, ups = np.zeros((SHARE, COLUMNS), np.float32), np.empty(COLUMNS)
    left, left_power = np.empty((STEPS, ENTITIES)), np.empty((STEPS, ENTITIES))
    right, right_power = np.zeros((STEPS, DEPTH, COLUMNS)), np.zeros((STEPS, DEPTH, COLUMNS))
    places = None if positions is None else np.zeros((STEPS, DEPTH, COLUMNS), np.int64)
    for n in range(0, y.shape[1], COLUMNS):
        accumulators[:] = 0
        for first in range(0, x.shape[1], STEPS):
            part = y[first * DEPTH : (first + STEPS) * DEPTH, n : n + COLUMNS]
            for k in range(part.shape[0]):
                for j in range(part.shape[1]):
                    right[k // DEPTH, k % DEPTH, j] = y_values[part[k, j]]
                    right_power[k // DEPTH, k % DEPTH, j] = y_powers[part[k, j]]
                    if positions is not None:
                        places[k // DEPTH, k % DEPTH, j] = positions[first * DEPTH + k, n + j]
            for m in range(result.shape[0]):
                own = x[m, first : first + STEPS]
                for step in range(own.shape[0]):
                    for k in range(own.shape[1]):
                        left[step, k] = x_values[own[step, k]]
                        left_power[step, k] = x_powers[own[step, k]]
                for step in range(own.shape[0]):
                    _float_step(
                        left, left_power, right, right_power, places, step, unit, keep_sign, ups, accumulators[m]
                    )
        write(accumulators, result[:, n : n + COLUMNS])


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
