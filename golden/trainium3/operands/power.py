"""x to the power of y on float32 arrays, rounded once to nearest even.

Bit-identical to `bitpath.golden.trainium3.exact.power`.
"""

import numpy as np

from bitpath.golden.trainium3.exact.power import power as exact_power

_DOUBT = 2.0**-40
"""Relative error that is allowed for float64's power; libraries stay below 2**-50."""


def power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return x**y, with IEEE 754's results for zeros, infinities, NaN and negative x.

    float64's power decides the rounding, except where an error of 2**-40 would change it: there the exact tier does.
    Squares, which meet midpoints often, are products.
    """
    x, y = np.broadcast_arrays(x, y)
    with np.errstate(all="ignore"):
        near = np.power(x.astype(np.float64), y.astype(np.float64))
        low, high, rounded = ((near * (1 + error)).astype(np.float32) for error in (-_DOUBT, _DOUBT, 0))
    result = np.where(y == 2, multiply(x, x), one_nan(rounded))
    for place in zip(*np.nonzero((low != high) & ~np.isnan(near) & (y != 2)), strict=True):
        code = exact_power(*(int(each[place].view(np.uint32)) for each in (x, y)))
        result[place] = np.uint32(code).view(np.float32)
    return result
