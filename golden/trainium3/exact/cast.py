"""Exact twin of the casts between the 13 dtypes, on scalars.

The rules are in `bitpath.golden.trainium3.declarations.dtypes.CHOICES`.
"""

from fractions import Fraction

from bitpath.golden.formats.catalogue import FP32, TF32
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.scalar.arguments import check_choice, integer
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.fp32 import convert
from bitpath.golden.scalar.rounding import round_to_format, round_to_integer
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, TF32_SPARE_BITS, IntegerFormat, container_bits


@checked
def cast(code: int, source: str, destination: str) -> int:
    """Return the code of an element cast from one dtype to another; of equal dtypes the code itself.

    Parameters
    ----------
    code : bits of the element in memory; integers in two's complement, TF32 as a word of 32 bits.
    source, destination : names of dtypes, of `FORMATS`.

    Raises
    ------
    ValueError : another name, or a code beyond the dtype's width.
    """
    check_choice("destination", destination, FORMATS)
    value = to_fp32(code, source)
    return code if source == destination else from_fp32(value, destination)


@checked
def to_fp32(code: int, source: str) -> int:
    """Return the FP32 code of an element: exact, but INT32, UINT32 and the bits below TF32 round to nearest even."""
    fmt = FORMATS[check_choice("source", source, FORMATS)]
    integer("code", code, range(1 << container_bits(source)))
    if isinstance(fmt, IntegerFormat):
        return round_to_format(Fraction(code - (1 << fmt.width if code > fmt.highest else 0)), FP32)
    return _tf32(code) if fmt is TF32 else convert(code, fmt, FP32)


@checked
def from_fp32(code: int, destination: str) -> int:
    """Return the code of an FP32 number rounded to a dtype, to nearest even.

    A float beyond the largest is infinity, or NaN in E4M3FN; an integer saturates, and is 0 for NaN.
    """
    fmt = FORMATS[check_choice("destination", destination, FORMATS)]
    if not isinstance(fmt, IntegerFormat):
        return _tf32(code) if fmt is TF32 else convert(code, FP32, fmt)
    x = decode(FP32, code)
    if x.kind is Kind.NAN:
        return 0
    if x.kind is Kind.INFINITY:
        return (fmt.lowest if x.sign else fmt.highest) % (1 << fmt.width)
    whole = round_to_integer(x.value, Rounding.RNE)
    return min(max(whole, fmt.lowest), fmt.highest) % (1 << fmt.width)


def _tf32(code: int) -> int:
    return convert(code, FP32, TF32) << TF32_SPARE_BITS
