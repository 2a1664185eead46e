"""Trainium3's array without scales: products added one after the other, with float64 as the exact container.

Operands are kept in FP32, which holds the numbers of all formats, and a block is decoded when its columns are computed.

Exactness. A product of two elements has at most 48 bits and lies between 2**-298 and 2**256, so float64 has it exactly, and
fusing it with an addition changes nothing. A block of rows takes the cheapest of three steps for each row of the array:

- *Plain*, as in `bitpath.golden.trainium3.matmul.array_loop`: float64 holds all sums, and the conversion to FP32 is the one
  rounding.
- *Near*: all products are multiples of FP32's smallest number, and so are all sums. A sum that float64 rounds to 53 bits then
  rounds to FP32 as the exact sum does, unless it became a midpoint of FP32: between two midpoints it stays there, and FP32 and
  float64 both hold the sums below FP32's normal numbers. If a sum of a block is a midpoint, the block takes the next step.
- *Odd*: the sum with the partial sum is rounded to odd, then once more to the accumulator, which is as one rounding (Boldo and
  Melquiond).

Zeros, infinities and NaN follow IEEE 754.
"""

import numpy as np

from bitpath.golden.arrays.bits import code64, to_odd, two_sum
from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.arrays.parallel import Progress, in_blocks, in_parallel, spread
from bitpath.golden.formats.catalogue import FP32, Rounding
from bitpath.golden.trainium3.declarations.quad_mx import MAX_MOVING_FP32, MAX_STATIONARY
from bitpath.golden.trainium3.declarations.vector import MatmulNumerics
from bitpath.golden.trainium3.matmul.array_loop import CHUNK, COLUMNS, PLAIN, ROWS, Packed, choose_steps, put, rounded

NO_EXPONENT = 1 << 10
"""Exponent of numbers that are 0 or not finite, beyond every real one."""
SMALLEST = FP32.emin - FP32.fraction_bits
"""Exponent of FP32's smallest number."""
BELOW, HALF = (1 << 52 - FP32.fraction_bits) - 1, 1 << 51 - FP32.fraction_bits
"""Bits of a float64's code below FP32's last place, and these bits of a midpoint of FP32."""


def chain_rows(
    numerics: MatmulNumerics, x: np.ndarray, y: np.ndarray, places: np.ndarray | None = None, kept: int = 1
) -> np.ndarray:
    """Return ``sum over k of x[k, m] * y[k, n]`` from +0, FP32 codes uint32 [M, N], of float64 [K, M] and [K, N].

    With `places`, uint16 [P, N], row p of a sparse `y` [P, N] meets row ``places[p, n]`` of `x`; `kept` rows of y are a group.
    """
    result = np.empty((1, x.shape[1], y.shape[1]), np.float32)
    left, right = (
        packed(np.ascontiguousarray(each.T, np.float32)[np.newaxis], width) for each, width in ((x, ROWS), (y, COLUMNS))
    )
    found = None if places is None else in_blocks(np.ascontiguousarray(places.T)[np.newaxis], COLUMNS)
    multiply(numerics, left, right, found, result, tile=len(y), kept=kept)
    return result[0].view(np.uint32)


def packed(rows: np.ndarray, width: int) -> Packed:
    """Return one side, float32 [B, F, K], in blocks of `width` columns, the last one filled with zeros.

    Returns
    -------
    Numbers [B, blocks, K, width]; for each block and k the exponent of the lowest bit and one above those of all its
    numbers, int64 [B, blocks, K] each.
    """
    blocks = in_blocks(rows, width)
    spans = np.empty((2, *blocks.shape[:3]), np.int64)
    flat, flat_spans = blocks.reshape(-1, width), spans.reshape(2, -1)
    in_parallel(lambda part: _spans(flat[part], *flat_spans[:, part]), spread(len(flat), blocks.size))
    return blocks, *spans


def multiply(
    numerics: MatmulNumerics,
    x: Packed,
    y: Packed,
    places: np.ndarray | None,
    result: np.ndarray,
    *,
    tile: int,
    kept: int = 1,
    rows: slice | None = None,
    progress: Progress | None = None,
) -> None:
    """Write the products of packed sides to `result`, float32 [B, M, N], NaN as the one NaN.

    Parameters
    ----------
    places : of a sparse `y`, uint16 [B, blocks, P, width]: the rows of `x` that its rows meet, counted in the tile.
    tile : rows of `y` that an instruction has; its sums start from +0 and are added, in FP32, to those before.
    kept : rows of a group of a sparse `y`.
    rows, progress : as `array_loop.multiply`'s.
    """
    rows = slice(0, result.shape[1]) if rows is None else rows
    numbers, *spans = x
    depth, ratio = y[0].shape[2], numbers.shape[2] // y[0].shape[2]
    if places is not None:
        # A row of y may meet each row of its group.
        lowest, highest = (each.reshape(*each.shape[:2], -1, kept * ratio) for each in spans)
        spans = [each.repeat(kept, axis=2) for each in (lowest.min(axis=3), highest.max(axis=3))]
    fmt, product = numerics.accumulator, numerics.product_rounding
    to_nearest = numerics.accumulator_rounding is Rounding.RNE
    options = (
        fmt == FP32 and to_nearest and product is None,
        -1 if product is None else product.format.fraction_bits,
        product is not None and product.rounding is Rounding.RNE,
        *(fmt.fraction_bits, to_nearest, tile, ratio),
    )
    count = rows.stop - rows.start
    units = len(result) * y[0].shape[1] * -(-numbers.shape[1] // CHUNK)
    parts = (
        None if progress is None else len(result) * -(-count // MAX_STATIONARY) * -(-result.shape[2] // MAX_MOVING_FP32)
    )

    def work(part: slice) -> None:
        _chain(numbers, *spans, *y, places, *options, result, rows.start, rows.stop, part.start, part.stop)

    in_parallel(work, spread(units, count * result[:, 0].size * depth, parts), progress)


@kernel
def _spans(blocks, lowest, highest):
    """Write, for each row of float32 [R, width], the exponent of the lowest bit and one above those of its numbers."""
    for row in range(blocks.shape[0]):
        low, high = np.int64(NO_EXPONENT), np.int64(-NO_EXPONENT)
        for i in range(blocks.shape[1]):
            number = np.float64(blocks[row, i])
            code = code64(number)
            exponent = (code >> 52 & 0x7FF) - 1023
            significand = code & ((1 << 52) - 1) | 1 << 52
            last = (code64(np.float64(significand & -significand)) >> 52) - 1023 - 52 + exponent
            counts = (number != 0.0) & (exponent < 1024)
            low = min(low, last) if counts else low
            high = max(high, exponent + 1) if counts else high
        lowest[row], highest[row] = low, high


@kernel(fused=True)
def _chain(
    x, x_lowest, x_highest, y, y_lowest, y_highest, places, plain, product_bits, product_to_nearest, fraction_bits, to_nearest,
    tile, ratio, result, top, bottom, first, stop
):  # fmt: skip
    """Write the parts of `result` [B, M, N], from part `first` to `stop`; exact products if `product_bits` is -1.

    A part has the columns of a block and up to `CHUNK` blocks of rows.
    """
    fields = product_bits, product_to_nearest, fraction_bits, to_nearest
    left, right = np.empty((ROWS, tile * ratio)), np.empty((tile, COLUMNS))
    # Each row reads the partial sums of the one before, and writes others.
    partial, steps = np.empty((2, ROWS, COLUMNS), np.float32), np.empty(tile, np.int64)
    depth, chunks = y.shape[2], (x.shape[1] + CHUNK - 1) // CHUNK
    for part in range(first, stop):
        b, n, chunk = part // (chunks * y.shape[1]), part // chunks % y.shape[1], part % chunks
        for start in range(0, depth, tile):
            rows = slice(start, min(start + tile, depth))
            count = rows.stop - start
            for p in range(count):
                for i in range(COLUMNS):
                    right[p, i] = y[b, n, start + p, i]
            own = None if places is None else places[b, n, rows]
            for m in range(chunk * CHUNK, min((chunk + 1) * CHUNK, x.shape[1])):
                out = result[b, top + m * ROWS : min(top + (m + 1) * ROWS, bottom), n * COLUMNS : (n + 1) * COLUMNS]
                for k in range(count * ratio):
                    for r in range(ROWS):
                        left[r, k] = x[b, m, start * ratio + k, r]
                partial[0] = 0
                lowest, others = x_lowest[b, m, rows], y_lowest[b, n, rows]
                choose_steps(lowest, x_highest[b, m, rows], others, y_highest[b, n, rows], 0, False, steps)
                for p in range(count):
                    near = lowest[p] + others[p] >= SMALLEST
                    before, after = partial[p & 1, : out.shape[0]], partial[1 - (p & 1)]
                    if not plain:
                        _other_row(left, right, own, p, fields, before, after)
                    elif not _cheap_row(left, right, own, p, steps[p] == PLAIN, near, before, after):
                        _odd_row(left, right, own, p, before, after)
                put(partial[count & 1], out, start > 0)


@piece
def left_of(x, places, r, p, i):
    """Return the number of `x` [ROWS, K] that a product takes."""
    if places is None:
        return x[r, p]
    return x[r, places[p, i]]


@piece
def _cheap_row(x, y, places, p, exact, near, before, after):
    """Add row p of the array to the partial sums of a block, and return True; return False where that takes the odd step."""
    if exact:
        for r in range(before.shape[0]):
            for i in range(COLUMNS):
                after[r, i] = np.float32(left_of(x, places, r, p, i) * y[p, i] + np.float64(before[r, i]))
        return True
    if not near:
        return False
    distance = np.uint64(HALF)
    for r in range(before.shape[0]):
        for i in range(COLUMNS):
            total = left_of(x, places, r, p, i) * y[p, i] + np.float64(before[r, i])
            distance = min(distance, np.uint64(code64(total) & BELOW ^ HALF))
            after[r, i] = np.float32(total)
    return distance > 0


@piece
def _odd_row(x, y, places, p, before, after):
    """Add row p of the array to the partial sums of a block, in two roundings that are as one."""
    for r in range(before.shape[0]):
        for i in range(COLUMNS):
            total, error = two_sum(left_of(x, places, r, p, i) * y[p, i], np.float64(before[r, i]))
            after[r, i] = np.float32(to_odd(total, error))


@piece
def _other_row(x, y, places, p, fields, before, after):
    """Add row p of the array to the partial sums of a block by the numerics' fields."""
    product_bits, product_to_nearest, fraction_bits, to_nearest = fields
    for r in range(before.shape[0]):
        for i in range(COLUMNS):
            product = left_of(x, places, r, p, i) * y[p, i]
            if product_bits >= 0 and np.isfinite(product):
                product = np.float64(rounded(product, product_bits, product_to_nearest, True, True))
            total, error = two_sum(product, np.float64(before[r, i]))
            if np.isfinite(total):
                after[r, i] = rounded(to_odd(total, error), fraction_bits, to_nearest, True, True)
            else:
                after[r, i] = total
