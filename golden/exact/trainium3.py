"""Trainium3's quantize_mx and PSUM write on scalars.

Ref: "Trainium3 Architecture Guide for NKI", AWS Neuron documentation, 2025-12-01; ``nki.isa.quantize_mx`` reference
page, NKI 0.3 and 0.5. What they leave open is in `bitpath.golden.spec.trainium3.CHOICES`.
"""

from collections.abc import Sequence
from fractions import Fraction

from bitpath.golden.codec import Kind, Overflow, Unpacked, decode
from bitpath.golden.exact.rounding import floor_log2, round_to_format
from bitpath.golden.spec.formats import BF16, E2M1, E8M0, FP32, FloatFormat
from bitpath.golden.spec.rounding import Rounding
from bitpath.golden.spec.trainium3 import ScaleRule


def quantize_block(
    source_codes: Sequence[int], source: FloatFormat, element: FloatFormat, rule: ScaleRule
) -> tuple[list[int], int]:
    """Quantise the elements that share one scale.

    The scale code is max(E - offset, 0), with E the largest biased FP32 exponent among the elements and offset the
    element's emax (NKI05: one less, but for E2M1, whose offset stays 2). Every element is divided by the scale that is
    stored, rounded RNE, saturated.

    Returns
    -------
    element codes, and the E8M0 code of the scale.

    Raises
    ------
    ValueError : a NaN for an element format that has none.
    """
    elements = [decode(source, code) for code in source_codes]
    offset = element.emax - (rule is ScaleRule.NKI05 and element is not E2M1)
    scale = max(max(_biased_fp32_exponent(x) for x in elements) - offset, 0)
    divisor = Fraction(2) ** (scale - E8M0.bias)
    codes = []
    for x in elements:
        if x.kind is Kind.NAN:
            if element.nan_code is None:
                raise ValueError(f"source_codes hold NaN, which {element.name} cannot express")
            codes.append(element.nan_code)
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


def psum_write(
    incoming: int,
    present: int | None,
    destination: FloatFormat,
    rounding: Rounding = Rounding.RNE,
    random_bits: int = 0,
) -> int:
    """Return what one PSUM element holds after a write.

    Parameters
    ----------
    incoming : FP32 code from the array.
    present : code of `destination` to accumulate onto, or None to overwrite.
    destination : FP32 or BF16. The sum is rounded RNE to FP32 first; BF16 is a second rounding.
    rounding : of the second rounding, RNE or SR.
    random_bits : 16 bits, for SR: added below the BF16 fraction before truncation. Infinity and NaN bypass it.

    Raises
    ------
    ValueError : another destination, rounding or width of `random_bits`.
    """
    if destination not in (FP32, BF16):
        raise ValueError(f"destination is {destination.name}; FP32 and BF16 are allowed")
    if rounding is Rounding.RTZ:
        raise ValueError(f"rounding is {rounding.name}; RNE and SR are allowed")
    if not 0 <= random_bits < 1 << 16:
        raise ValueError(f"random_bits is {random_bits}; 0 to 65535 are allowed")
    total = _canonical(incoming) if present is None else _add(incoming, destination, present)
    if destination is FP32:
        return total
    x = decode(FP32, total)
    if x.kind is not Kind.FINITE:
        return total >> 16
    if rounding is Rounding.SR:
        return total + random_bits >> 16
    return round_to_format(x.value, BF16, zero_sign=x.sign)


def _canonical(code: int) -> int:
    return FP32.nan_code if decode(FP32, code).kind is Kind.NAN else code


def _add(incoming: int, fmt: FloatFormat, present: int) -> int:
    """Add in FP32, RNE: IEEE 754 with one NaN."""
    x, y = decode(FP32, incoming), decode(fmt, present)
    infinities = {each.sign for each in (x, y) if each.kind is Kind.INFINITY}
    if Kind.NAN in (x.kind, y.kind) or len(infinities) > 1:
        return FP32.nan_code
    if infinities:
        return FP32.infinity_code | (FP32.sign_mask if infinities == {1} else 0)
    return round_to_format(x.value + y.value, FP32, zero_sign=x.sign & y.sign)
