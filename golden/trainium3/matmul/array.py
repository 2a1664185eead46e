"""The array: scaled four-product dot steps chained down the rows, for all M columns and N moving inputs at once.

Results are bit-identical to chaining `bitpath.golden.exact.dot_step` from +0.

Ref: "Trainium3 Architecture Guide for NKI", AWS Neuron documentation, 2025-12-01, Quad-MXFP8/MXFP4 performance mode.
"""

import numpy as np

from bitpath.golden.arrays.codec import decode_array
from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.golden.formats.dot import DotNumerics
from bitpath.golden.trainium3.declarations.quad_mx import X4


def chain_rows(
    numerics: DotNumerics,
    stationary: np.ndarray,
    stationary_format: FloatFormat,
    stationary_scale: np.ndarray,
    moving: np.ndarray,
    moving_format: FloatFormat,
    moving_scale: np.ndarray,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Return the partial sums that leave the array after rows 0 to P-1, in this order.

    Parameters
    ----------
    stationary, moving : element codes [P, M, 4] and [P, N, 4] of the formats named.
    stationary_scale, moving_scale : scale codes [G, M] and [G, N], one for each column and P / G rows; G divides P.
    start : partial sums that enter row 0, FP32 codes uint32 [M, N] on the accumulator's grid; +0 by default.

    Returns
    -------
    FP32 codes, uint32 [M, N].

    Raises
    ------
    ValueError : a word has other than 4 elements, or a finite partial sum in `start` has bits below the accumulator's.
    """
    for name, codes in (("stationary", stationary), ("moving", moving)):
        if codes.shape[2] != X4:
            raise ValueError(f"{name} must have {X4} elements in a word, not {codes.shape[2]}")
    # The compiler is loaded with the first call.
    from bitpath.golden.trainium3.matmul import array_loop

    if start is not None:
        _check_start(numerics, start)
    operands = stationary, stationary_format, stationary_scale, moving, moving_format, moving_scale
    return array_loop.chain_rows(numerics, *operands, start)


def _check_start(numerics: DotNumerics, start: np.ndarray) -> None:
    unused = FP32.fraction_bits - numerics.accumulator.fraction_bits
    if np.any(np.isfinite(decode_array(FP32, start)) & (start & (1 << unused) - 1 != 0)):
        raise ValueError(f"start has bits below the accumulator's grid; the lowest {unused} bits of a code are 0")
