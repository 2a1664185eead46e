"""Inverse, square root and inverse square root of the scalar unit.

The hardware's bits are not public; here results are correctly rounded (`bitpath.golden.aie_ml_v2.declarations.choices.CHOICES`).

Ref: AM027, Scalar Unit; llvm-aie for the integer forms, whose conversions at both ends belong to the instruction; AM029 for
the status register.
"""

import numpy as np

from bitpath.golden.aie_ml_v2.convert.fix_float import fix_to_float, float_to_fix
from bitpath.golden.aie_ml_v2.declarations.scalar import ScalarFunction, Sr2
from bitpath.golden.arrays import fp32
from bitpath.golden.arrays.arguments import check_array, checked
from bitpath.golden.formats.catalogue import FP32

_FUNCTIONS = {
    ScalarFunction.INV: fp32.reciprocal,
    ScalarFunction.SQRT: fp32.square_root,
    ScalarFunction.INVSQRT: fp32.reciprocal_square_root,
}


@checked
def scalar_function(
    function: ScalarFunction | str, bits: np.ndarray, *, fix_in: int | None = None, fix_out: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return 1 / x ("inv"), sqrt(x) ("sqrt") or 1 / sqrt(x) ("invsqrt"), rounded to nearest even, and the flags.

    Subnormals count on both sides, and every NaN is 0x7FC00000. A zero gives infinity of its sign, but a zero for "sqrt";
    below zero both roots are NaN; infinity gives a zero of its sign, but infinity for "sqrt".

    Parameters
    ----------
    bits : FP32 codes, uint32 of any shape; with `fix_in` int32.
    fix_in : None, or the shift, -32 to 31, with which `fix_to_float` converts the argument.
    fix_out : None, or the shift, -32 to 31, with which `float_to_fix` converts the result.

    Returns
    -------
    FP32 codes, uint32, with `fix_out` int32; and flags of SR2, uint32, of the function and of the conversions. NaN sets
    invalid and not inexact; an infinity from an infinity or from a zero is neither huge nor inexact.

    Raises
    ------
    TypeError, ValueError : another function, dtype or shift.
    """
    function = ScalarFunction(function)
    check_array("bits", bits, np.uint32 if fix_in is None else np.int32)
    before: np.ndarray | int = 0
    if fix_in is not None:
        bits, before = fix_to_float(bits, fix_in)
    x = bits.view(np.float32)
    y = np.asarray(_FUNCTIONS[function](x))
    result, flags = y.view(np.uint32), before | _flags(function, x, y)
    if fix_out is not None:
        result, after = float_to_fix(result, fix_out)
        flags |= after
    return result, np.asarray(flags)


def _flags(function: ScalarFunction, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the function's own flags for a float32 argument and result."""
    with np.errstate(invalid="ignore"):
        argument, result = x.astype(np.float64), y.astype(np.float64)
        if function is ScalarFunction.SQRT:
            exact = result * result == argument
        else:
            # The inverse of a number with more than one bit has no end. The product with a power of two is exact.
            one_bit = np.frexp(np.abs(result))[0] == 0.5
            powers = result if function is ScalarFunction.INV else result * result
            exact = one_bit & (argument * powers == 1)
    number = np.isfinite(x) & (x != 0) & ~np.isnan(y)
    flags = (
        np.where(y == 0, Sr2.ZERO, 0)
        | np.where(np.isinf(y), Sr2.INFINITY, 0)
        | np.where(np.isnan(y), Sr2.INVALID, 0)
        | np.where((y != 0) & (np.abs(result) < float(FP32.min_normal)), Sr2.TINY, 0)
        | np.where(number & np.isinf(y), Sr2.HUGE, 0)
        | np.where(number & ~exact, Sr2.INEXACT, 0)
    )
    return np.asarray(flags.astype(np.uint32))
