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
from bitpath.golden.arrays.parallel import Progress, cuts, in_blocks, in_parallel, owned, threads

SHARE, COLUMNS = 64, 128
"""Rows that a core takes at a time, and columns of a block: its accumulators of 32 bits fit in the L1 cache."""
DEPTH = 8
"""Products of a lane between two reads of its accumulator."""


def prepared_integers(mode: Mode, b: np.ndarray) -> np.ndarray:
    """Return right integers [K/k, N/n, n, k] as `multiply_integers` takes them."""
    check_integers("b", b, mode.b_bits, signed=True)
    rows = b.transpose(0, 3, 1, 2).reshape(b.shape[0] * b.shape[3], -1).astype(np.int32)
    return in_blocks(np.pad(rows, ((0, -len(rows) % DEPTH), (0, 0))), COLUMNS)


def multiply_integers(
    mode: Mode, a: np.ndarray, right: np.ndarray, columns: int, progress: Progress | None
) -> np.ndarray:
    """Return accumulators int64 [M, N] of integers [M/m, K/k, m, k] and prepared ones of N columns."""
    check_integers("a", a, mode.a_bits, signed=True)
    x = a.swapaxes(1, 2).reshape(a.shape[0] * a.shape[2], -1)
    result = np.empty((len(x), columns), np.int64)
    lane = np.dtype(f"i{mode.lane_bits // 8}")

    def work(share: slice) -> None:
        left = np.pad(x[share].astype(np.int32), ((0, 0), (0, -x.shape[1] % DEPTH)))
        _integers(owned(left), right, np.empty((SHARE, COLUMNS), lane), result[share])

    in_parallel(work, cuts(len(x), min(SHARE, -(-len(x) // threads()))), progress)
    return result


@kernel
def _integers(x, y, accumulators, result):
    """x [M, K] and y [blocks, K, COLUMNS], int32; accumulators [SHARE, COLUMNS] of the lanes' dtype."""
    rows = result.shape[0]
    for n in range(y.shape[0]):
        accumulators[:] = 0
        for k in range(0, x.shape[1], DEPTH):
            for m in range(rows):
                for j in range(COLUMNS):
                    # numba's int64 sum: where lanes are narrower, the compiler computes only the bits that are kept.
                    total = accumulators[m, j] + x[m, k] * y[n, k, j]
                    total += x[m, k + 1] * y[n, k + 1, j]
                    total += x[m, k + 2] * y[n, k + 2, j]
                    total += x[m, k + 3] * y[n, k + 3, j]
                    total += x[m, k + 4] * y[n, k + 4, j]
                    total += x[m, k + 5] * y[n, k + 5, j]
                    total += x[m, k + 6] * y[n, k + 6, j]
                    accumulators[m, j] = total + x[m, k + 7] * y[n, k + 7, j]
        copy_corner(accumulators, result[:, n * COLUMNS : (n + 1) * COLUMNS])
