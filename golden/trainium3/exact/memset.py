"""memset on one element: a number to a dtype, rounded once."""

from fractions import Fraction
from math import copysign, isinf, isnan
from typing import Any

from bitpath.golden.formats.catalogue import TF32
from bitpath.golden.scalar.arguments import check_choice, integer, shown
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import Overflow, overflow_code
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, TF32_SPARE_BITS, IntegerFormat


@checked
def memset_element(value: Any, dtype: str) -> int:
    """Return the code of a number in a dtype, a name of `FORMATS`; floats round to nearest even and do not saturate.

    Parameters
    ----------
    value : an integer of the dtype's range for an integer dtype, else a float, an integer or a fraction.

    Raises
    ------
    TypeError : no number; anything but an integer for an integer dtype.
    ValueError : another dtype, or an integer beyond its range.
    """
    fmt = FORMATS[check_choice("dtype", dtype, FORMATS)]
    if isinstance(fmt, IntegerFormat):
        return integer("value", value, range(fmt.lowest, fmt.highest + 1)) % (1 << fmt.width)
    if not isinstance(value, float | int | Fraction):
        raise TypeError(f"value must be a number, not {shown(value)}")
    spare = TF32_SPARE_BITS if fmt is TF32 else 0
    if not isinstance(value, float):
        return round_to_format(Fraction(value), fmt) << spare
    if isnan(value):
        return fmt.nan_code << spare
    sign = int(copysign(1, value) < 0)
    if isinf(value):
        code = overflow_code(fmt, Overflow.SPECIAL)
        return (code if code == fmt.nan_code else code | sign * fmt.sign_mask) << spare
    return round_to_format(Fraction(value), fmt, zero_sign=sign) << spare
