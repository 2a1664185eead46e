"""Integers with a binary point to FP32 and back on scalars, each with the flags of SR2.

Ref: llvm-aie for the shifts and the status register.
"""

from fractions import Fraction

from bitpath.golden.aie_ml_v2.declarations.scalar import WORD_BITS, Sr2
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import Kind, decode, power_of_two
from bitpath.golden.scalar.rounding import round_to_format, round_to_integer

HIGHEST = (1 << WORD_BITS - 1) - 1


@checked
def fix_to_float(n: int, shift: int = 0) -> tuple[int, Sr2]:
    """Return the FP32 code nearest to ``n * 2**-shift``."""
    exact = n * power_of_two(-shift)
    code = round_to_format(exact, FP32)
    flags = Sr2(0) if n else Sr2.TO_FLOAT_ZERO
    return code, flags if decode(FP32, code).value == exact else flags | Sr2.TO_FLOAT_INEXACT


@checked
def float_to_fix(code: int, shift: int = 0) -> tuple[int, Sr2]:
    """Return the 32-bit integer nearest to an FP32 number times ``2**shift``; of NaN 2**31 - 1."""
    x = decode(FP32, code)
    if x.kind is Kind.NAN:
        return HIGHEST, Sr2.TO_FIX_INVALID | Sr2.TO_FIX_INEXACT
    if x.kind is Kind.INFINITY:
        return -HIGHEST - 1 if x.sign else HIGHEST, Sr2.TO_FIX_HUGE | Sr2.TO_FIX_INEXACT
    exact: Fraction = x.value * power_of_two(shift)
    rounded = round_to_integer(exact, Rounding.RNE)
    result = min(max(rounded, -HIGHEST - 1), HIGHEST)
    flags = Sr2(0) if result else Sr2.TO_FIX_ZERO
    flags |= Sr2(0) if result == exact else Sr2.TO_FIX_INEXACT
    return result, flags if result == rounded else flags | Sr2.TO_FIX_HUGE
