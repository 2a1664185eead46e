"""Integers with a binary point to FP32 and back, as the scalar unit converts them.

Points without public documents are listed in `bitpath.golden.aie_ml_v2.declarations.choices.CHOICES`.

Ref: llvm-aie for the shifts, the cycles and the status register; UG1529, which emulates the conversion of vectors.
"""

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import FLOAT_SHIFTS
from bitpath.golden.aie_ml_v2.declarations.scalar import WORD_BITS, Sr2
from bitpath.golden.arrays.arguments import check_array, checked, integer

HIGHEST = (1 << WORD_BITS - 1) - 1


@checked
def fix_to_float(n: np.ndarray, shift: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Convert integers times ``2**-shift`` to FP32, rounded to nearest even.

    Parameters
    ----------
    n : int32 of any shape.
    shift : -32 to 31, the integers' fraction bits.

    Returns
    -------
    FP32 codes and flags of SR2 (zero and inexact), both uint32 of the same shape.

    Raises
    ------
    TypeError, ValueError : another dtype or shift.
    """
    check_array("n", n, np.int32)
    shift = integer("shift", shift, FLOAT_SHIFTS)
    exact = np.ldexp(n.astype(np.float64), -shift)
    rounded = np.asarray(exact.astype(np.float32))
    flags = np.where(n == 0, Sr2.TO_FLOAT_ZERO, 0) | np.where(rounded != exact, Sr2.TO_FLOAT_INEXACT, 0)
    return rounded.view(np.uint32), np.asarray(flags.astype(np.uint32))


@checked
def float_to_fix(bits: np.ndarray, shift: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Convert FP32 times ``2**shift`` to integers, rounded to nearest even and saturated.

    Infinity saturates by its sign, NaN gives 2**31 - 1; subnormals count.

    Parameters
    ----------
    bits : FP32 codes, uint32 of any shape.
    shift : -32 to 31, the integers' fraction bits.

    Returns
    -------
    int32, and flags of SR2 (zero, invalid, inexact, huge) as uint32, both of the same shape. NaN is invalid and inexact,
    infinity huge and inexact; zero is the result 0.

    Raises
    ------
    TypeError, ValueError : another dtype or shift.
    """
    check_array("bits", bits, np.uint32)
    shift = integer("shift", shift, FLOAT_SHIFTS)
    with np.errstate(invalid="ignore"):  # a signaling NaN
        exact = np.ldexp(bits.view(np.float32).astype(np.float64), shift)
    nan = np.isnan(exact)
    rounded = np.rint(np.where(nan, HIGHEST, exact))
    result = np.clip(rounded, -HIGHEST - 1, HIGHEST)
    flags = (
        np.where(result == 0, Sr2.TO_FIX_ZERO, 0)
        | np.where(nan, Sr2.TO_FIX_INVALID, 0)
        | np.where(result != exact, Sr2.TO_FIX_INEXACT, 0)
        | np.where(result != rounded, Sr2.TO_FIX_HUGE, 0)
    )
    return np.asarray(result.astype(np.int32)), np.asarray(flags.astype(np.uint32))
