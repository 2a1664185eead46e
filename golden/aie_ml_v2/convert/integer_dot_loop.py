"""AIE-ML v2's integer matrices on native products: the steps of K of every lane.

Results are bit-identical to `integer_dot` on each step of K, the first without an accumulator.

Lanes wrap: a step keeps the low bits of a sum, and these depend on the low bits of its addends alone. So products and sums
may wrap in any order, and zeros that fill K add nothing. An operand fits in 32 bits, and a product in the 64 of the widest
lanes.
"""

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.modes import Mode
from bitpath.golden.arrays.arguments import check_integers
from bitpath.golden.arrays.bits import copy_corner
from bitpath.golden.arrays.kernels import kernel
from bitpath.golden.arrays.parallel import Progress, in_blocks, in_parallel, owned, spread

SHARE, COLUMNS = 64, 128
"""Rows that a core takes at a time, and columns of a block: its accumulators of 32 bits fit in the L1 cache."""
DEPTH = 8
"""Products of a lane between two reads of its accumulator."""


def prepared_integers(mode: Mode, b: np.ndarray) -> np.ndarray:
    """Return right integers [B, N, K] as `multiply_integers` takes them."""
    check_integers("b", b, mode.b_bits, signed=True)
    return in_blocks(_whole_steps(b), COLUMNS)


def multiply_integers(
    mode: Mode, a: np.ndarray, right: np.ndarray, result: np.ndarray, rows: slice, progress: Progress | None
) -> None:
    """Write accumulators, rows of `result` int64 [B, M, N], of integers [B, rows, K] and prepared ones."""
    check_integers("a", a, mode.a_bits, signed=True)
    left, lane = owned(_whole_steps(a)), np.dtype(f"i{mode.lane_bits // 8}")
    batch, _, columns = result.shape
    shares, blocks = -(-(rows.stop - rows.start) // SHARE), right.shape[1]

    def work(part: slice) -> None:
        accumulators = np.empty((SHARE, COLUMNS), lane)
        _integers(left, right, accumulators, result, rows.start, rows.stop, part.start, part.stop)

    parts = spread(batch * shares * blocks, left.size * columns, None if progress is None else batch * shares)
    in_parallel(work, parts, progress)


def _whole_steps(rows: np.ndarray) -> np.ndarray:
    """Return [B, R, K] as int32, K filled with zeros to a multiple of DEPTH."""
    return np.pad(rows.astype(np.int32), ((0, 0), (0, 0), (0, -rows.shape[2] % DEPTH)))


@kernel
def _integers(x, y, accumulators, result, top, bottom, first, stop):
    """x [B, M, K] and y [B, blocks, K, COLUMNS], int32; accumulators [SHARE, COLUMNS] of the lanes' dtype.

    Write parts `first` to `stop` of rows `top` to `bottom` of the result: blocks of columns by shares of rows.
    """
    shares = (bottom - top + SHARE - 1) // SHARE
    for part in range(first, stop):
        b, n, chunk = part // (shares * y.shape[1]), part // shares % y.shape[1], part % shares * SHARE
        rows = min(SHARE, bottom - top - chunk)
        accumulators[:] = 0
        for k in range(0, x.shape[2], DEPTH):
            for m in range(rows):
                own = x[b, chunk + m]
                for j in range(COLUMNS):
                    # numba's int64 sum: where lanes are narrower, the compiler computes only the bits that are kept.
                    total = accumulators[m, j] + own[k] * y[b, n, k, j]
                    total += own[k + 1] * y[b, n, k + 1, j]
                    total += own[k + 2] * y[b, n, k + 2, j]
                    total += own[k + 3] * y[b, n, k + 3, j]
                    total += own[k + 4] * y[b, n, k + 4, j]
                    total += own[k + 5] * y[b, n, k + 5, j]
                    total += own[k + 6] * y[b, n, k + 6, j]
                    accumulators[m, j] = total + own[k + 7] * y[b, n, k + 7, j]
        copy_corner(accumulators, result[b, top + chunk : top + chunk + rows, n * COLUMNS : (n + 1) * COLUMNS])
