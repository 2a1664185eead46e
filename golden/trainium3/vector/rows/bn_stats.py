"""bn_stats and bn_aggr: counts, means and variances of rows, in parts and put together.

Bit-identical to `bitpath.golden.trainium3.exact.bn_stats_row` and `bn_aggr_row`; the order of their operations is in
`bitpath.golden.trainium3.declarations.engines.CHOICES`.

Ref: ``nki.isa.bn_stats`` and ``nki.isa.bn_aggr`` reference pages, NKI 0.6 (AWS Neuron documentation, 2026-08).
"""

import numpy as np

from bitpath.golden.arrays.arguments import checked
from bitpath.golden.trainium3.declarations.engines import BN_STATS_ELEMENTS
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.vector.engine import output_dtype, read_tile, write
from bitpath.golden.trainium3.vector.reduction import serial_sum


@checked
def bn_stats(data: np.ndarray, *, dtype: np.dtype | type | str = np.float32) -> np.ndarray:
    """Return count n, mean and ``sum((x - mean)**2)`` of each row's even elements, then of its odd ones.

    ``mean = sum(x) * fp32(1 / n)``. Each operation is rounded to FP32, sums are serial; then comes the cast to `dtype`.
    The odd elements of a row of one element have 0 in all three.

    Parameters
    ----------
    data : [P, F], P from 1 to 128, F from 1 to 512, of a dtype in `ENGINE_DTYPES`.
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, 6] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """
    dtype = output_dtype(dtype)
    values = read_tile("data", data)
    if values.shape[1] > BN_STATS_ELEMENTS:
        raise ValueError(
            f"data must have at most {BN_STATS_ELEMENTS} elements for each partition, not {values.shape[1]}"
        )
    statistics = np.zeros((len(values), 6), np.float32)
    for parity in range(min(values.shape[1], 2)):
        part = values[:, parity::2]
        count = np.float32(part.shape[1])
        mean = fp32.multiply(serial_sum(part), fp32.reciprocal(count))
        deviation = fp32.subtract(part, mean[:, np.newaxis])
        squares = serial_sum(fp32.multiply(deviation, deviation))
        statistics[:, 3 * parity : 3 * parity + 3] = np.stack([np.full_like(mean, count), mean, squares], axis=1)
    return write(statistics, dtype)


@checked
def bn_aggr(data: np.ndarray, *, dtype: np.dtype | type | str = np.float32) -> np.ndarray:
    """Return mean and variance of each row, from triples (n, mean, M2) of its parts, as `bn_stats` gives them.

    ``mean = sum(n[i] * mean[i]) / N`` and ``variance = sum(M2[i] + n[i] * (mean[i] - mean)**2) / N``; N is the sum of n.
    Each operation is rounded to FP32, sums are serial; then comes the cast to `dtype`.

    Parameters
    ----------
    data : [P, 3 k], P from 1 to 128, of a dtype in `ENGINE_DTYPES`.
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, 2] of `dtype`; NaN where N is 0.

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """
    dtype = output_dtype(dtype)
    values = read_tile("data", data)
    if values.shape[1] % 3:
        raise ValueError(f"data must have a multiple of 3 elements for each partition, not {values.shape[1]}")
    count, mean, squares = (values[:, i::3] for i in range(3))
    total = serial_sum(count)
    overall = fp32.divide(serial_sum(fp32.multiply(count, mean)), total)
    deviation = fp32.subtract(mean, overall[:, np.newaxis])
    spread = fp32.add(squares, fp32.multiply(count, fp32.multiply(deviation, deviation)))
    return write(np.stack([overall, fp32.divide(serial_sum(spread), total)], axis=1), dtype)
