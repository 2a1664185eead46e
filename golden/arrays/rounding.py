"""Right shifts that round, on arrays of integers."""

import numpy as np

from bitpath.golden.formats.rounding import Rounding


def shift_round(values: np.ndarray, shift: np.ndarray | int, mode: Rounding) -> np.ndarray:
    """Divide signed integers by ``2**shift`` and round; any mode but SR.

    Parameters
    ----------
    values : int64 or int32 of any shape.
    shift : 0 to the bits of the dtype less 1.
    """
    shift = np.asarray(shift, values.dtype)
    below = values >> shift
    match mode:
        case Rounding.RTD:
            return below
        case Rounding.RNE:
            up = below & 1
        case Rounding.RNO:
            up = ~below & 1
        case Rounding.RNA | Rounding.RTA:
            up = values >= 0
        case Rounding.RNZ | Rounding.RTZ:
            up = values < 0
        case Rounding.RNU | Rounding.RTU:
            up = True
        case Rounding.RND:
            up = False
        case _:
            raise ValueError(f"mode must not be {mode.name}")
    discarded = values - (below << shift)
    if not mode.to_nearest:
        return below + ((discarded > 0) & up)
    # Without a shift `half` is 1 and nothing is discarded, so that nothing goes up.
    half = values.dtype.type(1) << np.maximum(shift - 1, 0)
    return below + (discarded > half - up)
