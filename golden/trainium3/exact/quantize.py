"""Exact twin of Trainium3's quantize_mx, on scalars.

Ref: ``nki.isa.quantize_mx`` reference page, NKI 0.3 and 0.5 (AWS Neuron documentation). Open points are listed in
`bitpath.golden.trainium3.declarations.quad_mx.CHOICES`.
"""

from collections.abc import Sequence

from bitpath.golden.formats.catalogue import E2M1, E8M0, FP32, FloatFormat
from bitpath.golden.scalar.arguments import check_length
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import Kind, Overflow, Unpacked, decode, power_of_two
from bitpath.golden.scalar.rounding import floor_log2, round_to_format
from bitpath.golden.trainium3.declarations.quad_mx import ScaleRule


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
