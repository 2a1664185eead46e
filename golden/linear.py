"""Linear layers of a machine on all kinds of arrays."""

from typing import Any

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.arrays.arguments import numbers, operand


def linear_w8a8(x: Any, w: "Any | trainium3.PreparedW8A8", *, gamma: Any = None, **options: Any) -> np.ndarray:
    """Compute a linear layer of Trainium3 in FP8, with a scale for each row and each output channel.

    Rows are quantised by RMSNorm-Quant, multiplied by weights in FP8 with sums in FP32, and dequantised.

    Parameters
    ----------
    x, w, gamma : numbers [..., K], [K, N] and [K], of any kind that `matmul` takes; `w` may be what `trainium3.prepare_w8a8` returns.
        Without gamma rows are quantised as they are, else normalised first.
    options : as `trainium3.linear_w8a8` takes them, such as `eps`, `dtype_mode`, `double_row` and `dtype`.

    Returns
    -------
    [..., N] of bfloat16, or of float32 with `dtype`.

    Raises
    ------
    TypeError, ValueError : as `trainium3.linear_w8a8`.

    Ref: "RMSNorm-Quant Kernel Design Specification", AWS Neuron documentation, 2025-12-02.
    """
    weights = w if isinstance(w, trainium3.PreparedW8A8) else operand("w", w, False)
    scale = None if gamma is None else numbers("gamma", gamma).astype(np.float32)
    return trainium3.linear_w8a8(operand("x", x, False), weights, gamma=scale, **options)
