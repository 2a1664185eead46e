"""AIE-ML v2's matrices on native products: the steps of K of every lane.

Bit-identical to `aie_ml_v2.matmul.run_program` for the numerics that `supports` names.

Exactness. Aligned terms are integers in units of ``2**(E - align_fraction_bits)``, with 24 such bits at most. An accumulator
is below 2 and so below 2**25 units; a product of floats is below 4, hence 2**26, and eight of them with an accumulator
below 2**29 + 2**25. Codes of m magnitude bits are doubled, which makes them at most 2**(m + 1), as -2**m is; 16 products are
at most 2**(2 * m + 6), and aligned, at most 24 - 2 * m places up, at most 2**30: with an accumulator below 2**30 + 2**25. All
of it fits 32 bits. A block pair's sum is computed in float32, which holds every integer up to 2**24: it is at most 2**20,
m being at most 7. The sum on the grid is rounded to nearest even once, by its conversion to float32, whose exponent field
then only has to be moved.
"""

from functools import cache

import numpy as np
from numba import njit

from bitpath.golden.aie_ml_v2.declarations.codes import MX4, MX_BLOCK, MX_NAN_EXPONENT, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.mac.fused_dot import decode_floats, splits
from bitpath.golden.aie_ml_v2.operands.mx_blocks import MxBlocks
from bitpath.golden.arrays.backend import Progress, cuts, in_parallel, owned, threads
from bitpath.golden.arrays.bits import kernel, left32, right32
from bitpath.golden.arrays.codec import DTYPES, codes_of, format_of
from bitpath.golden.formats.catalogue import FP32, FloatFormat

ROWS, COLUMNS, DEPTH = 64, 128, 8
"""Rows that a core takes at a time; columns and steps of K whose operands stay in its caches."""
LARGEST_FRACTION_BITS = 24
LARGEST_SHIFT = 30
"""Only terms below 2**24 are shifted right, so no bit is left after this shift."""
ABSENT = -1
"""Exponent of a term that is left out of the maximum."""
EMPTY_EXPONENT = -(1 << 14)
"""The exponent of a float operand that takes no part: with any other's it sums to less than `ABSENT`."""
FRACTION_BITS, FRACTION_MASK, EXPONENT_MASK = FP32.fraction_bits, FP32.fraction_mask, FP32.exponent_mask
BIAS, INFINITY, NAN = FP32.bias, FP32.infinity_code, FP32.nan_code
NAN_EXPONENT, BLOCK = MX_NAN_EXPONENT, MX_BLOCK


def supports(numerics: AieNumerics, blocks: MxBlocks | None) -> bool:
    """Return True if the kernels implement these numerics for floats, or for blocks like these.

    Alignment and result are rounded to nearest even, on at most 24 fraction bits; a block pair's products are summed first
    and together, without loss. All other fields may be either.
    """
    even = RoundingCode.CONV_EVEN
    nearest = numerics.align_rounding is numerics.accumulator_align_rounding is numerics.result_rounding is even
    if not nearest or numerics.align_fraction_bits > LARGEST_FRACTION_BITS:
        return False
    if blocks is None:
        return True
    lossless = numerics.mx_lossless_shift or blocks.fmt == MX4
    return lossless and numerics.mx_post_add_first and not splits(numerics, blocks)


def multiply_blocks(numerics: AieNumerics, a: MxBlocks, b: MxBlocks, progress: Progress | None) -> np.ndarray:
    """Return accumulators float32 [M, N] of blocks a [M/m, K, m, 1] and b [K, N/n, n, 1]."""
    depth = b.shape[0]
    x, x_exponent = _doubled(a).swapaxes(1, 2), a.exponent.swapaxes(1, 2)
    y = owned(_doubled(b).reshape(depth, -1, MX_BLOCK).swapaxes(1, 2))
    x, x_exponent = x.reshape(-1, depth, MX_BLOCK), x_exponent.reshape(-1, depth)
    fraction_bits = 2 * a.fmt.magnitude_bits
    own = (numerics.align_fraction_bits, fraction_bits, numerics.flushed_zero_keeps_sign)
    fields = (*own, numerics.mx_zero_term, numerics.mx_nan_block)
    y_exponent = owned(b.exponent.reshape(depth, -1))
    return _run(_blocks, (x, x_exponent), (y, y_exponent), fields, progress)


def _doubled(blocks: MxBlocks) -> np.ndarray:
    """Return codes shifted left by 1 less their element shifts, float32."""
    return (blocks.codes.astype(np.int16) << 1 - blocks.element_shifts.astype(np.int16)).astype(np.float32)


def multiply_floats(numerics: AieNumerics, a: np.ndarray, b: np.ndarray, progress: Progress | None) -> np.ndarray:
    """Return accumulators float32 [M, N] of finite floats a [M/m, K/k, m, k] and b [K/k, N/n, n, k]."""
    step = a.shape[-1]
    rows, columns = a.shape[0] * a.shape[2], b.shape[1] * b.shape[2]
    x = [each.swapaxes(1, 2).reshape(rows, -1) for each in _operand(numerics, a)]
    y = [owned(each.transpose(0, 3, 1, 2)).reshape(-1, columns) for each in _operand(numerics, b)]
    fraction_bits = format_of(a.dtype).fraction_bits + format_of(b.dtype).fraction_bits
    fields = (numerics.align_fraction_bits, fraction_bits, numerics.flushed_zero_keeps_sign, step)
    return _run(_floats, x, y, fields, progress)


def specials(array: np.ndarray) -> np.ndarray:
    """Return where floats are infinite or NaN."""
    return _tables(format_of(array.dtype))[2][codes_of(array)]


def _operand(numerics: AieNumerics, array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return signed significands and exponents, rebased so that two add up to a product's, int16."""
    signed, exponent, _ = _tables(format_of(array.dtype))
    if not numerics.float_zero_term:
        exponent = np.where(signed == 0, np.int16(EMPTY_EXPONENT), exponent)
    codes = codes_of(array)
    return signed[codes], exponent[codes]


@cache
def _tables(fmt: FloatFormat) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    every = np.arange(1 << fmt.width).astype(f"u{fmt.width // 8}").view(DTYPES[fmt])
    decoded = decode_floats(every)
    exponent = decoded.exponent + FP32.bias - fmt.bias
    return decoded.signed.astype(np.int16), exponent.astype(np.int16), decoded.special


def _run(kernel, x, y, fields, progress: Progress | None) -> np.ndarray:
    """Run a kernel on blocks of rows; `x` and `y` are arrays with rows and columns of the result on their outer axes."""
    rows, columns = len(x[0]), y[0].shape[-1]
    codes = np.zeros((rows, columns), np.int32)
    numbers = [np.int32(each) for each in fields]

    def work(part: slice) -> None:
        kernel(*(owned(each[part]) for each in x), *y, codes[part], *numbers)

    in_parallel(work, cuts(rows, min(ROWS, -(-rows // threads()))), progress)
    return codes.view(np.float32)


@njit(forceinline=True)
def _aligned(value, distance, left):
    """Divide int32 by ``2**(distance - left)``, exactly or rounded to nearest even."""
    moved = left32(value, max(left - distance, np.int32(0)))
    shift = min(max(distance - left, np.int32(0)), np.int32(LARGEST_SHIFT))
    odd = right32(moved, shift) & min(shift, np.int32(1))
    return np.int32(right32(np.int32(moved + right32(left32(np.int32(1), shift) - np.int32(1), 1) + odd), shift))


@njit(forceinline=True)
def _own_exponent(code):
    """Return an accumulator's exponent, `ABSENT` for zero; infinity and NaN have an exponent too."""
    biased = right32(code, FRACTION_BITS) & EXPONENT_MASK
    return np.int32(ABSENT) if code & np.int32(0x7FFFFFFF) == 0 else np.int32(max(biased, 1) + BIAS + 1)


@njit(forceinline=True)
def _aligned_accumulator(code, exponent, grid):
    """Return an accumulator on the grid of the largest exponent."""
    biased = right32(code, FRACTION_BITS) & EXPONENT_MASK
    significand = np.int32(code & FRACTION_MASK | (1 << FRACTION_BITS if biased else 0))
    value = np.int32(-significand if code < 0 else significand)
    return _aligned(value, np.int32(exponent - _own_exponent(code)), np.int32(grid - FRACTION_BITS))


@njit(forceinline=True)
def _code(total, exponent, grid, keep_sign, accumulator):
    """Return the FP32 code of a sum on the grid; an accumulator that is not finite stays."""
    rounded = np.float32(total).view(np.int32)
    biased = (right32(rounded, FRACTION_BITS) & EXPONENT_MASK) + exponent - 2 * BIAS - 1 - grid
    sign = rounded & np.int32(-(1 << 31))
    code = sign | left32(np.int32(biased), FRACTION_BITS) | rounded & FRACTION_MASK
    code = sign | INFINITY if biased >= EXPONENT_MASK else code
    code = (sign if keep_sign else np.int32(0)) if biased <= 0 else code
    code = np.int32(0) if total == 0 else code
    return accumulator if accumulator & INFINITY == INFINITY else np.int32(code)


@kernel
def _blocks(x, x_exponent, y, y_exponent, codes, grid, fraction_bits, keep_sign, zero_counts, nan_blocks):
    """x float32 [M, K, 16], y [K, 16, N], exponents uint8 [M, K] and [K, N]; `codes` are the accumulators [M, N]."""
    sums = np.empty(COLUMNS, np.float32)
    for n in range(0, codes.shape[1], COLUMNS):
        columns = slice(n, min(n + COLUMNS, codes.shape[1]))
        for first in range(0, x.shape[1], DEPTH):
            for m in range(codes.shape[0]):
                accumulators = codes[m, columns]
                for k in range(first, min(first + DEPTH, x.shape[1])):
                    sums[:] = 0
                    for i in range(BLOCK):
                        factor, row = x[m, k, i], y[k, i, columns]
                        for j in range(row.shape[0]):
                            sums[j] += factor * row[j]
                    own, others = np.int32(x_exponent[m, k]), y_exponent[k, columns]
                    for j in range(accumulators.shape[0]):
                        other = np.int32(others[j])
                        total = np.int32(sums[j])
                        counts = (total != 0) | (zero_counts != 0) & (own > 0) & (other > 0)
                        pair = np.int32(own + other + 1 if counts else ABSENT)
                        accumulator = accumulators[j]
                        exponent = max(pair, _own_exponent(accumulator))
                        total = _aligned(total, np.int32(exponent - pair), np.int32(grid - fraction_bits))
                        total += _aligned_accumulator(accumulator, exponent, grid)
                        code = _code(np.int32(total), exponent, grid, keep_sign, accumulator)
                        nan = (nan_blocks != 0) & ((own == NAN_EXPONENT) | (other == NAN_EXPONENT))
                        accumulators[j] = NAN if nan else code


@kernel
def _floats(x, x_exponent, y, y_exponent, codes, grid, fraction_bits, keep_sign, step):
    """Signed significands and exponents int16, x [M, K], y [K, N]; `codes` are the accumulators [M, N]."""
    highest, totals = np.empty(COLUMNS, np.int32), np.empty(COLUMNS, np.int32)
    left = np.int32(grid - fraction_bits)
    for n in range(0, codes.shape[1], COLUMNS):
        columns = slice(n, min(n + COLUMNS, codes.shape[1]))
        for first in range(0, x.shape[1], step * DEPTH):
            for m in range(codes.shape[0]):
                accumulators = codes[m, columns]
                size = accumulators.shape[0]
                for start in range(first, min(first + step * DEPTH, x.shape[1]), step):
                    for j in range(size):
                        highest[j] = _own_exponent(accumulators[j])
                    for k in range(start, start + step):
                        own, others = np.int32(x_exponent[m, k] + 1), y_exponent[k, columns]
                        for j in range(size):
                            highest[j] = max(highest[j], np.int32(own + others[j]))
                    for j in range(size):
                        totals[j] = _aligned_accumulator(accumulators[j], highest[j], grid)
                    for k in range(start, start + step):
                        own, others = np.int32(x_exponent[m, k] + 1), y_exponent[k, columns]
                        factor, row = np.int32(x[m, k]), y[k, columns]
                        for j in range(size):
                            product = np.int32(factor * np.int32(row[j]))
                            distance = np.int32(highest[j] - own - np.int32(others[j]))
                            totals[j] += _aligned(product, distance, left)
                    for j in range(size):
                        accumulators[j] = _code(totals[j], highest[j], grid, keep_sign, accumulators[j])
