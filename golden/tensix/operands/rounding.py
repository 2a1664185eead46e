"""Right shifts that round to nearest."""

import numpy as np

from bitpath.golden.tensix.declarations.numerics import Tie


def shift_round(values: np.ndarray, shift: np.ndarray | int, tie: Tie) -> np.ndarray:
    """Divide signed integers by ``2**shift`` and round to nearest, halves as `tie` says.

    Parameters
    ----------
    values : int64 or int32 of any shape.
    shift : of the same dtype, or an int; not negative, and small enough for the dtype to hold ``2**shift``.
    """
    half = (np.ones_like(values) << shift) >> 1
    if tie is Tie.UP:
        return values + half >> shift
    magnitude = np.abs(values)
    kept = magnitude + half >> shift
    if tie is Tie.EVEN:
        # A tie is where the shifted-out bits are exactly the half that was added; rounded up to odd, it goes back.
        kept -= (magnitude + half == kept << shift) & (half > 0) & (kept & 1 == 1)
    return np.where(values < 0, -kept, kept)
