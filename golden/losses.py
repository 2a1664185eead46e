"""How far a model's output is from a reference, as one number."""

import math
from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import check_shape, checked, numbers


@checked
def relative_rms(result: Any, reference: Any) -> float:
    """Return the relative RMS error, ``sqrt(sum (result - reference)**2 / sum reference**2)``, in float64.

    Parameters
    ----------
    result, reference : numbers of one shape, of any kind that `matmul` takes.

    Returns
    -------
    At least 0; infinite for a reference of zeros and another result; NaN where a number is not finite.

    Raises
    ------
    TypeError, ValueError : no numbers; different shapes.
    """
    found, exact = _pair(result, reference)
    with np.errstate(invalid="ignore", over="ignore"):
        noise, signal = float(np.square(found - exact).sum()), float(np.square(exact).sum())
    if math.isnan(noise) or math.isinf(signal):
        return math.nan
    return math.sqrt(noise / signal) if signal else math.inf if noise else 0.0


@checked
def kl_divergence(result: Any, reference: Any) -> float:
    """Return the Kullback-Leibler divergence of a result's probabilities from a reference's, in nats, a mean over tokens::

        p = softmax(reference), q = softmax(result), of the last axis
        KL = mean over all other axes of sum p * (log p - log q), in float64

    Parameters
    ----------
    result, reference : logits [..., classes] of one shape, of any kind that `matmul` takes.

    Returns
    -------
    At least 0, but for rounding; NaN where a logit is not finite.

    Raises
    ------
    TypeError, ValueError : no numbers; different shapes.
    """
    log_q, log_p = (log_softmax(each) for each in _pair(result, reference))
    with np.errstate(invalid="ignore"):
        return float((np.exp(log_p) * (log_p - log_q)).sum(-1).mean())


def _pair(result: Any, reference: Any) -> tuple[np.ndarray, np.ndarray]:
    found, exact = numbers("result", result), numbers("reference", reference)
    if not exact.ndim or not exact.size:
        raise ValueError(f"reference must have at least one axis and one number, not shape {exact.shape}")
    check_shape("result", found, *exact.shape, why=", as the reference has")
    return found.astype(np.float64), exact.astype(np.float64)


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Return ``x - log sum exp x`` over the last axis, float64; NaN where a number is not finite."""
    x = logits.astype(np.float64)
    with np.errstate(invalid="ignore"):
        shifted = x - x.max(-1, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
