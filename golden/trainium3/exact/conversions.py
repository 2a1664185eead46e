"""Casts and quantize_mx on scalars."""

from collections.abc import Sequence
from fractions import Fraction

from bitpath.golden.formats.catalogue import E2M1, E8M0, FP32, TF32, FloatFormat, Rounding
from bitpath.golden.scalar.checked import check_choice, check_length, checked, integer
from bitpath.golden.scalar.codec import Kind, Overflow, Unpacked, decode, power_of_two
from bitpath.golden.scalar.fp32 import convert
from bitpath.golden.scalar.rounding import floor_log2, round_to_format, round_to_integer
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, TF32_SPARE_BITS, IntegerFormat, container_bits
from bitpath.golden.trainium3.declarations.quad_mx import ScaleRule

# Exact twin of the casts between the 13 dtypes, on scalars.
#
# The rules are in `bitpath.golden.trainium3.declarations.dtypes.CHOICES`.


# Exact twin of Trainium3's quantize_mx, on scalars.
#
# Ref: ``nki.isa.quantize_mx`` reference page, NKI 0.3 and 0.5 (AWS Neuron documentation). Open points are listed in
# `bitpath.golden.trainium3.declarations.quad_mx.CHOICES`.


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


@checked
def quantize_block(
    source_codes: Sequence[int], source: FloatFormat, element: FloatFormat, rule: ScaleRule
) -> tuple[list[int], int]:
    """Quantise the elements that share one scale.

    The scale code is max(E - offset, 0), with E the largest biased FP32 exponent among the elements and offset the
    element's emax (NKI05: one less, except for E2M1 with offset 2). Every element is divided by the stored scale,
    rounded RNE and saturated. NaN becomes the element's NaN, or the largest positive number where it has none.

    Returns
    -------
    element codes, and the E8M0 code of the scale.
    """
    check_length("source_codes", source_codes)
    elements = [decode(source, code) for code in source_codes]
    offset = element.emax - (rule is ScaleRule.NKI05 and element is not E2M1)
    scale = max(max(_biased_fp32_exponent(x) for x in elements) - offset, 0)
    divisor = power_of_two(scale - E8M0.bias)
    codes = []
    for x in elements:
        if x.kind is Kind.NAN:
            codes.append(element.max_code if element.nan_code is None else element.nan_code)
        elif x.kind is Kind.INFINITY:
            codes.append(element.max_code | (element.sign_mask if x.sign else 0))
        else:
            codes.append(round_to_format(x.value / divisor, element, overflow=Overflow.SATURATE, zero_sign=x.sign))
    return codes, scale


def _biased_fp32_exponent(x: Unpacked) -> int:
    """Return the exponent field that the value has in FP32; 0 for zeros and FP32's subnormals."""
    if x.kind is not Kind.FINITE:
        return FP32.exponent_mask
    return 0 if abs(x.value) < FP32.min_normal else floor_log2(x.value) + FP32.bias
