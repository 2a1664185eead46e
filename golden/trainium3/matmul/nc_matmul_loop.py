"""Trainium3's array without scales: products added one after the other, with float64 as the exact container.

Exactness. A product of two elements has at most 48 bits and lies between 2**-298 and 2**256, so float64 has it exactly, and
fusing it with an addition changes nothing. Its sum with the partial sum is rounded to odd, then once more to the accumulator,
which is as one rounding (Boldo and Melquiond). Zeros, infinities and NaN follow IEEE 754.
"""

import numpy as np

from bitpath.golden.arrays.bits import to_odd, two_sum
from bitpath.golden.arrays.kernels import kernel
from bitpath.golden.arrays.parallel import in_blocks, in_parallel, shares
from bitpath.golden.formats.catalogue import FP32, Rounding
from bitpath.golden.trainium3.declarations.vector import MatmulNumerics
from bitpath.golden.trainium3.matmul.array_loop import rounded

COLUMNS = 128
"""Columns of a block: the partial sums fit in the L1 cache, the moving elements in the L2 cache."""


def chain_rows(numerics: MatmulNumerics, x: np.ndarray, y: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
    """Return ``sum over k of x[k, m] * y[rows[k, m], n]`` from +0, FP32 codes uint32 [M, N], of float64 [K, M] and [R, N].

    `rows` are integers [K, M], the rows of `y` that a sparse stationary operand meets; k itself by default.
    """
    if rows is None:
        rows = np.broadcast_to(np.arange(x.shape[0])[:, np.newaxis], x.shape)
    result = np.empty((x.shape[1], y.shape[1]), np.float32)
    fmt, product = numerics.accumulator, numerics.product_rounding
    to_nearest = numerics.accumulator_rounding is Rounding.RNE
    fields = (
        -1 if product is None else product.format.fraction_bits,
        product is not None and product.rounding is Rounding.RNE,
        *(fmt.fraction_bits, to_nearest),
    )
    plain = fmt == FP32 and to_nearest and product is None
    stationary, read = np.ascontiguousarray(x.T), np.ascontiguousarray(rows.T, np.int64)

    def work(columns: slice) -> None:
        _chain(stationary, read, in_blocks(y[:, columns], COLUMNS), plain, *fields, result, columns.start)

    in_parallel(work, shares(y.shape[1], COLUMNS))
    return np.where(np.isnan(result), np.uint32(FP32.nan_code), result.view(np.uint32))


@kernel(fused=True)
def _chain(x, rows, y, plain, product_bits, product_to_nearest, fraction_bits, to_nearest, result, first):
    """Write the sums of x, rows [M, K] and y [blocks, R, COLUMNS] to `result` [M, N], columns from `first` on; exact products if `product_bits` is -1."""
    partial = np.empty(COLUMNS, np.float32)
    for n in range(y.shape[0]):
        for m in range(x.shape[0]):
            partial[:] = 0
            for k in range(x.shape[1]):
                own, other = x[m, k], y[n, rows[m, k]]
                if plain:
                    for i in range(COLUMNS):
                        total, error = two_sum(own * other[i], np.float64(partial[i]))
                        partial[i] = np.float32(to_odd(total, error))
                else:
                    for i in range(COLUMNS):
                        product = own * other[i]
                        if product_bits >= 0 and np.isfinite(product):
                            product = np.float64(rounded(product, product_bits, product_to_nearest, True, True))
                        total, error = two_sum(product, np.float64(partial[i]))
                        if np.isfinite(total):
                            partial[i] = rounded(to_odd(total, error), fraction_bits, to_nearest, True, True)
                        else:
                            partial[i] = total
            out = result[m, first + n * COLUMNS : first + (n + 1) * COLUMNS]
            for i in range(out.shape[0]):
                out[i] = partial[i]
