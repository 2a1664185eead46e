"""FP32 in four passes of 12-bit halves: ``x = hi + lo``.

    FP32 fraction   22         12 11          0
                   +-------------+-------------+
    hi keeps       | upper 11    | 0           |
    lo = x - hi    |             | lower 12    |  normalised, exact
                   +-------------+-------------+

Bit-identical to `bitpath.golden.trainium3.exact.split12`. Choices are in
`bitpath.golden.trainium3.declarations.tensor.CHOICES`.
"""

import numpy as np

from bitpath.golden.trainium3.declarations.tensor import LOW_BITS
from bitpath.golden.trainium3.declarations.vector import MatmulNumerics
from bitpath.golden.trainium3.operands import fp32


def halves(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return hi and lo of FP32 numbers, float32; lo is +0 of a zero difference, of infinity and of NaN."""
    values = values.astype(np.float32)
    codes = values.view(np.uint32)
    finite = np.isfinite(values)
    high = np.where(finite, codes >> LOW_BITS << LOW_BITS, codes).astype(np.uint32).view(np.float32)
    with np.errstate(invalid="ignore"):
        low = np.where(finite, values - high, np.float32(0))
    return high, low


def chain_passes(
    numerics: MatmulNumerics, x: np.ndarray, y: np.ndarray, *, low_x: bool = True, low_y: bool = True
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the sum of the passes, FP32 codes uint32 [M, N], and each pass, of float64 [K, M] and [K, N].

    Parameters
    ----------
    low_x, low_y : False if that operand has no low half, so that its passes are left out.
    """
    # The compiler is loaded with the first call.
    from bitpath.golden.trainium3.matmul import nc_matmul_loop

    (x_high, x_low), (y_high, y_low) = halves(x), halves(y)
    x_part, y_part = (np.where(np.isfinite(each), each, np.float32(0)) for each in (x_high, y_high))
    pairs = [(x_low, y_low)] * (low_x and low_y) + [(x_low, y_part)] * low_x + [(x_part, y_low)] * low_y
    pairs.append((x_high, y_high))
    passes = [nc_matmul_loop.chain_rows(numerics, a.astype(np.float64), b.astype(np.float64)) for a, b in pairs]
    total = passes[0].view(np.float32)
    for each in passes[1:]:
        total = fp32.add(total, each.view(np.float32))
    return total.view(np.uint32), passes
