"""AIE-ML v2's matrices on native products in any rounding: the steps of K of every lane.

Bit-identical to `fused_dot` and `sparse_dot` on each step of K; takes what `fused_dot_loop` prepares.

Exactness. Terms are divided by the grid, a power of two, so they keep their bits, of 33 at most; `_whole` rounds them to integers.
It compares what lies above the integer below with a threshold. That difference is exact unless the term is below 2**-19;
then it rounds to a number near 0 or 1, on the same side of the threshold. The sum, below 2**38, is scaled to 24 bits and
rounded in the same way; the product with the grid is exact, and FP32 holds it or overflows. Infinity and NaN: as there.
"""

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import MX_BLOCK, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.mac.fused_dot_pieces_loop import (
    COLUMNS,
    DEPTH,
    ENTITIES,
    LARGEST,
    SHARE,
    left_of,
    power_of,
    write,
)
from bitpath.golden.arrays.bits import RISES
from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.formats.catalogue import FP32

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
    """Round to an integer."""
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
