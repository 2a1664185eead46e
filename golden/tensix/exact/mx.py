"""Quasar's MX formats on scalars: the scale of a block, an element, and a source word.

Ref: tt-metal, host quantisers of MX formats; tt-llk, test goldens.
"""

from collections.abc import Sequence
from fractions import Fraction

from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import Kind, Overflow, decode, power_of_two
from bitpath.golden.scalar.rounding import floor_log2, round_to_format, round_to_integer
from bitpath.golden.tensix.declarations.quasar import MxFormat


@checked
def mx_scale(codes: Sequence[int], fmt: MxFormat, *, ceil: bool = False, exp_rnd: bool = False) -> int:
    """Return the E8M0 code of a block of FP32 codes."""
    numbers = [decode(FP32, code) for code in codes]
    kinds = {each.kind for each in numbers}
    if kinds == {Kind.NAN}:
        return 255
    largest = max((abs(each.value) for each in numbers if each.kind is Kind.FINITE), default=Fraction(0))
    if largest == 0:
        return 254 if Kind.INFINITY in kinds else 0
    exponent = floor_log2(largest) - fmt.emax
    if ceil:
        ratio = largest / fmt.largest
        exponent = floor_log2(ratio)
        exponent += ratio > power_of_two(exponent)
    return min(max(exponent + exp_rnd, -127) + 127, 254)


@checked
def mx_element(code: int, scale: int, fmt: MxFormat) -> int:
    """Return the element of an FP32 code under a scale's code: to nearest even, saturating."""
    number = decode(FP32, code)
    if number.kind is Kind.NAN:
        return fmt.element.nan_code or 0 if fmt.element else 0
    if number.kind is Kind.INFINITY:
        value = (-1) ** number.sign * fmt.largest
    else:
        value = number.value / power_of_two(scale - 127)
    if fmt.element:
        return round_to_format(value, fmt.element, overflow=Overflow.SATURATE, zero_sign=number.sign)
    units = round_to_integer(value / power_of_two(fmt.step_exponent), Rounding.RNE)
    return min(max(units, -fmt.largest_integer), fmt.largest_integer) % (1 << fmt.bits)


@checked
def mx_source(element: int, scale: int, fmt: MxFormat) -> int:
    """Return the source word, BF16, of an element under a scale's code."""
    if fmt.element:
        number = decode(fmt.element, element)
        if number.kind is Kind.NAN or scale == 255:
            return BF16.nan_code << 3
        if number.kind is Kind.INFINITY:
            return (BF16.infinity_code | number.sign << 15) << 3
        value, sign = number.value, number.sign
    else:
        if scale == 255:
            return BF16.nan_code << 3
        signed = element - (element >> fmt.bits - 1 << fmt.bits)
        value, sign = signed * power_of_two(fmt.step_exponent), 0
    return round_to_format(value * power_of_two(scale - 127), BF16, zero_sign=sign) << 3
