"""Inverse, square root and inverse square root on scalars, correctly rounded, with the flags of SR2.

Ref: AM027, Scalar Unit; llvm-aie for the conversions of both ends; AM029 for the flags.
"""

from fractions import Fraction

from bitpath.golden.aie_ml_v2.declarations.scalar import ScalarFunction, Sr2
from bitpath.golden.aie_ml_v2.exact.fix_float import fix_to_float, float_to_fix
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.scalar import fp32
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import Kind, Unpacked, decode, power_of_two
from bitpath.golden.scalar.rounding import floor_log2, round_to_integer

_CODES = {
    ScalarFunction.INV: fp32.reciprocal,
    ScalarFunction.SQRT: fp32.square_root,
    ScalarFunction.INVSQRT: fp32.reciprocal_square_root,
}
_EQUALITIES = {
    ScalarFunction.INV: lambda x, y: x * y == 1,
    ScalarFunction.SQRT: lambda x, y: y * y == x,
    ScalarFunction.INVSQRT: lambda x, y: x * y * y == 1,
}
"""True if y is exactly the function of x."""


@checked
def scalar_function(
    function: ScalarFunction, code: int, fix_in: int | None = None, fix_out: int | None = None
) -> tuple[int, Sr2]:
    """Return an FP32 code, with `fix_out` an integer, and the flags of the function and of the conversions.

    Parameters
    ----------
    code : an FP32 code, with `fix_in` an integer.
    """
    before, after = Sr2(0), Sr2(0)
    if fix_in is not None:
        code, before = fix_to_float(code, fix_in)
    result = _CODES[function](code)
    own = _flags(function, decode(FP32, code), decode(FP32, result))
    if fix_out is not None:
        result, after = float_to_fix(result, fix_out)
    return result, before | own | after


def _flags(function: ScalarFunction, x: Unpacked, y: Unpacked) -> Sr2:
    if y.kind is Kind.NAN:
        return Sr2.INVALID
    flags = Sr2.INFINITY if y.kind is Kind.INFINITY else Sr2.ZERO if y.is_zero else Sr2(0)
    if x.kind is Kind.INFINITY or x.is_zero:
        return flags
    if function is ScalarFunction.INV:  # of all others the result is a normal number
        unbounded = _unbounded(1 / abs(x.value))
        flags |= Sr2.HUGE if unbounded > FP32.max else Sr2.TINY if unbounded < FP32.min_normal else Sr2(0)
    exact = y.kind is Kind.FINITE and _EQUALITIES[function](x.value, y.value)
    return flags if exact else flags | Sr2.INEXACT


def _unbounded(value: Fraction) -> Fraction:
    """Round a positive value to FP32's precision with any exponent."""
    last_place = power_of_two(floor_log2(value) - FP32.fraction_bits)
    return round_to_integer(value / last_place, Rounding.RNE) * last_place
