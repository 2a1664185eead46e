"""Error measures of a result against the same computation in float64."""

import numpy as np

from bitpath.golden.comparison import errors
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_RMSNORM_QUANT


def accuracy(result: np.ndarray, reference: np.ndarray) -> dict[str, float | None]:
    """Return the error measures of a report, or None for each if result or reference is not finite everywhere.

    Parameters
    ----------
    result : float32 or float64, of any shape.
    reference : float64 of the same shape, unquantised.

    Returns
    -------
    sqnr_db : signal to quantisation noise, ``10 log10(sum reference**2 / sum error**2)``; None for no error at all.
    max_rel_error : largest absolute error over the largest absolute reference.
    """
    found = errors(result, reference)
    return {
        "sqnr_db": None if found.sqnr_db is None else round(found.sqnr_db, 2),
        "max_rel_error": None if found.max_rel is None else float(f"{found.max_rel:.3g}"),
    }


def rmsnorm_reference(
    hidden: np.ndarray, gamma: np.ndarray, eps: float = float(TRAINIUM3_RMSNORM_QUANT.numerics.eps)
) -> np.ndarray:
    """RMSNorm in float64: hidden [M, H] over the root of its rows' mean square plus eps, times gamma [H]."""
    hidden, gamma = hidden.astype(np.float64), gamma.astype(np.float64)
    mean = np.square(hidden).mean(axis=1, keepdims=True)
    return hidden / np.sqrt(mean + eps) * gamma
