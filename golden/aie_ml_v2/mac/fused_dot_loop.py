"""AIE-ML v2's matrices on native products: the steps of K of every lane.

Bit-identical to `aie_ml_v2.matmul.run_program` for the numerics that `supports` names.

Exactness. float64 holds every term, sum and power of two here. With the largest exponent E, terms are rounded to the grid
``2**(E - F)``, F the align_fraction_bits, of 26 at most. A product of floats is below ``2**(E + 2)`` and the sum of a block
pair at most ``2**(E + 6)``, so that adding ``1.5 * 2**52 * 2**(E - F)`` to it gives a float64 whose last place is the grid:
the addition rounds to nearest even, once, and taking the constant away again is exact. A product of floats is exact too, so
it may be fused with that addition. Eight rounded products, or the sum of a block pair, and an accumulator are below
``2**(E + 7)``, multiples of the grid and so of at most 33 bits: their sum is exact in any order. Codes of m magnitude bits, 7 at most, are doubled, which makes them at most 2**(m + 1), as -2**m is; the sum of
16 products, at most 2**20, is computed in float32, which holds every integer up to 2**24. The sum on the grid is rounded to
FP32 once, by its conversion. Exponents are those of `AieNumerics` less 255: a product has the sum of its operands', before
it is normalised, and an accumulator its own.
"""

from functools import cache

import numpy as np
from numba import njit

from bitpath.golden.aie_ml_v2.declarations.codes import MX4, MX_BLOCK, MX_NAN_EXPONENT, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.mac.fused_dot import splits
from bitpath.golden.aie_ml_v2.operands.mx_blocks import MxBlocks
from bitpath.golden.arrays.bits import code64, kernel, value64
from bitpath.golden.arrays.codec import codes_of, decode_array, format_of
from bitpath.golden.arrays.parallel import Progress, cuts, in_blocks, in_parallel, owned, threads
from bitpath.golden.formats.catalogue import FP32, FloatFormat

SHARE, COLUMNS = 64, 128
"""Rows that a core takes at a time, and columns of a block: its accumulators fit in the L1 cache."""
DEPTH = 8
"""Products of floats that are added at once."""
STEPS = 8
"""Steps of floats whose operands are decoded at a time: the right ones fit in the L2 cache."""
SMALLEST = (1 - 2.0**-25) * 2.0**FP32.emin
"""What lies below is rounded to less than FP32's smallest normal number, with any exponent."""
POWER = 0x7FF << 52
"""Mask of a float64's exponent field: what it leaves of a normal number is the power of two below it."""
NAN = np.uint32(FP32.nan_code).view(np.float32)


def supports(numerics: AieNumerics, blocks: MxBlocks | None) -> bool:
    """Return True if the kernels implement these numerics for floats, or for blocks like these.

    Alignment and result are rounded to nearest even; a block pair's products are summed first and together, without loss.
    All other fields may be either.
    """
    even = RoundingCode.CONV_EVEN
    nearest = numerics.align_rounding is numerics.accumulator_align_rounding is numerics.result_rounding is even
    if blocks is None or not nearest:
        return nearest
    lossless = numerics.mx_lossless_shift or blocks.fmt == MX4
    return lossless and numerics.mx_post_add_first and not splits(numerics, blocks)


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

    def work(share: slice) -> None:
        left = (owned(each[share]) for each in (x, *x_powers))
        _blocks(*left, *right, last_place, *_fields(numerics), result[share])

    in_parallel(work, _shares(len(x)), progress)
    return result


def _doubled(blocks: MxBlocks) -> np.ndarray:
    """Return codes shifted left by 1 less their element shifts, int16."""
    return blocks.codes.astype(np.int16) << 1 - blocks.element_shifts


def _powers(numerics: AieNumerics, blocks: MxBlocks) -> tuple[np.ndarray, np.ndarray]:
    """Return blocks' powers of two, NaN of a NaN block, and those that count where the sum of a block pair is 0."""
    exponent = blocks.exponent.astype(np.int32)
    powers = np.ldexp(1.0, exponent - FP32.bias)
    if numerics.mx_nan_block:
        powers[exponent == MX_NAN_EXPONENT] = np.nan
    return powers, np.where(exponent > 0, powers, 0.0) if numerics.mx_zero_term else np.zeros_like(powers)


def prepared_floats(b: np.ndarray) -> np.ndarray:
    """Return the codes [K, N] of right floats [K/8, N/n, n, 8]."""
    return owned(codes_of(b).transpose(0, 3, 1, 2)).reshape(b.shape[0] * DEPTH, -1)


def multiply_floats(
    numerics: AieNumerics, a: np.ndarray, y: np.ndarray, y_format: FloatFormat, progress: Progress | None
) -> np.ndarray:
    """Return accumulators float32 [M, N] of finite floats [M/m, K/8, m, 8] and codes [K, N]."""
    x = codes_of(a).swapaxes(1, 2).reshape(a.shape[0] * a.shape[2], -1)
    tables = [*_tables(numerics, format_of(a.dtype)), *_tables(numerics, y_format)]
    result = np.zeros((len(x), y.shape[1]), np.float32)

    def work(share: slice) -> None:
        _floats(owned(x[share]), y, *tables, *_fields(numerics), result[share])

    in_parallel(work, _shares(len(x)), progress)
    return result


def specials(array: np.ndarray) -> np.ndarray:
    """Return where floats are infinite or NaN."""
    return np.asarray(~np.isfinite(decode_array(format_of(array.dtype), codes_of(array))))


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


@njit(forceinline=True)
def _power(accumulator):
    """Return the power of two of a normal number's exponent; 0 of 0."""
    return value64(code64(accumulator) & POWER)


@njit(forceinline=True)
def _rounded(total, accumulator, keep_sign):
    """Return a sum on the grid as FP32; an accumulator that is not finite stays."""
    flushed = np.copysign(0.0, total) if keep_sign else 0.0
    result = np.float32(total if abs(total) >= SMALLEST else flushed)
    return result if accumulator - accumulator == 0.0 else np.float32(accumulator)


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
                    largest = max(scale if pair != 0.0 else counts * y_counts[n, k, j], _power(accumulator))
                    up = largest * unit
                    total = (pair * (scale * last_place) + up - up) + (accumulator + up - up)
                    added = _rounded(total, accumulator, keep_sign)
                    accumulators[m, j] = NAN if np.isnan(scale) else added
        own = result[:, n * COLUMNS : (n + 1) * COLUMNS]
        own[:] = accumulators[:rows, : own.shape[1]]


@kernel(fused=True)
def _floats(x, y, x_values, x_powers, y_values, y_powers, unit, keep_sign, result):
    """Codes x [M, K] and y [K, N], and the tables of their formats."""
    accumulators, ups = np.zeros((SHARE, COLUMNS), np.float32), np.empty(COLUMNS)
    left, left_power = np.empty((STEPS, DEPTH)), np.empty((STEPS, DEPTH))
    right, right_power = np.zeros((STEPS, DEPTH, COLUMNS)), np.zeros((STEPS, DEPTH, COLUMNS))
    for n in range(0, y.shape[1], COLUMNS):
        accumulators[:] = 0
        for first in range(0, y.shape[0], STEPS * DEPTH):
            part = y[first : first + STEPS * DEPTH, n : n + COLUMNS]
            for k in range(part.shape[0]):
                for j in range(part.shape[1]):
                    right[k // DEPTH, k % DEPTH, j] = y_values[part[k, j]]
                    right_power[k // DEPTH, k % DEPTH, j] = y_powers[part[k, j]]
            for m in range(result.shape[0]):
                own = x[m, first : first + STEPS * DEPTH]
                for k in range(own.shape[0]):
                    left[k // DEPTH, k % DEPTH] = x_values[own[k]]
                    left_power[k // DEPTH, k % DEPTH] = x_powers[own[k]]
                for step in range(own.shape[0] // DEPTH):
                    _float_step(left, left_power, right, right_power, step, unit, keep_sign, ups, accumulators[m])
        out = result[:, n : n + COLUMNS]
        out[:] = accumulators[: out.shape[0], : out.shape[1]]


@njit(forceinline=True)
def _float_step(x, x_powers, y, y_powers, step, unit, keep_sign, ups, accumulators):
    """Add eight products of one row to its accumulators."""
    for j in range(COLUMNS):
        largest = _power(np.float64(accumulators[j]))
        largest = max(largest, x_powers[step, 0] * y_powers[step, 0, j])
        largest = max(largest, x_powers[step, 1] * y_powers[step, 1, j])
        largest = max(largest, x_powers[step, 2] * y_powers[step, 2, j])
        largest = max(largest, x_powers[step, 3] * y_powers[step, 3, j])
        largest = max(largest, x_powers[step, 4] * y_powers[step, 4, j])
        largest = max(largest, x_powers[step, 5] * y_powers[step, 5, j])
        largest = max(largest, x_powers[step, 6] * y_powers[step, 6, j])
        largest = max(largest, x_powers[step, 7] * y_powers[step, 7, j])
        ups[j] = largest * unit
    for j in range(COLUMNS):
        up = ups[j]
        accumulator = np.float64(accumulators[j])
        total = accumulator + up - up
        total += x[step, 0] * y[step, 0, j] + up - up
        total += x[step, 1] * y[step, 1, j] + up - up
        total += x[step, 2] * y[step, 2, j] + up - up
        total += x[step, 3] * y[step, 3, j] + up - up
        total += x[step, 4] * y[step, 4, j] + up - up
        total += x[step, 5] * y[step, 5, j] + up - up
        total += x[step, 6] * y[step, 6, j] + up - up
        total += x[step, 7] * y[step, 7, j] + up - up
        accumulators[j] = _rounded(total, accumulator, keep_sign)
