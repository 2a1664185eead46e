"""Right shifts of integers in the ten rounding codes of crRnd.

Ref: UG1583 and llvm-aie for the codes.
"""

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode


def shift_round(values: np.ndarray, shift: np.ndarray | int, code: RoundingCode) -> np.ndarray:
    """Divide signed integers by ``2**shift`` and round.

    Parameters
    ----------
    values : int64 of any shape.
    shift : int64 or int, 0 to 63.
    """
    shift = np.asarray(shift, np.int64)
    below = values >> shift
    if code is RoundingCode.FLOOR:
        return below
    rest = values - (below << shift)
    if code is RoundingCode.CEIL:
        return below + (rest > 0)
    if code is RoundingCode.SYMMETRIC_FLOOR:
        return below + ((rest > 0) & (values < 0))
    if code is RoundingCode.SYMMETRIC_CEIL:
        return below + ((rest > 0) & (values >= 0))
    # Without a shift `half` is 0 and the rest too, which must not count as a tie.
    half = np.int64(1) << np.maximum(shift - 1, 0)
    tie_goes_up = {
        RoundingCode.NEGATIVE_INF: lambda: False,
        RoundingCode.POSITIVE_INF: lambda: True,
        RoundingCode.SYMMETRIC_ZERO: lambda: values < 0,
        RoundingCode.SYMMETRIC_INF: lambda: values >= 0,
        RoundingCode.CONV_EVEN: lambda: below & 1 == 1,
        RoundingCode.CONV_ODD: lambda: below & 1 == 0,
    }[code]()
    return below + ((rest > half) | ((rest == half) & tie_goes_up))
