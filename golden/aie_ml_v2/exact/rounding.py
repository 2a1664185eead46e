"""The ten rounding codes of crRnd on exact values.

Ref: UG1583 and llvm-aie for the codes; all ten are measured on first-generation silicon for FP32 to BF16.
"""

from fractions import Fraction
from math import floor

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.golden.formats.catalogue import FloatFormat, Specials
from bitpath.golden.scalar.codec import Overflow, overflow_code
from bitpath.golden.scalar.rounding import floor_log2, ulp


def round_value(value: Fraction, code: RoundingCode) -> int:
    """Round an exact value to an integer."""
    below = floor(value)
    rest = value - below
    if rest == 0:
        return below
    negative = value < 0
    half = Fraction(1, 2)
    match code:
        case RoundingCode.FLOOR:
            up = False
        case RoundingCode.CEIL:
            up = True
        case RoundingCode.SYMMETRIC_FLOOR:
            up = negative
        case RoundingCode.SYMMETRIC_CEIL:
            up = not negative
        case _ if rest != half:
            up = rest > half
        case RoundingCode.NEGATIVE_INF:
            up = False
        case RoundingCode.POSITIVE_INF:
            up = True
        case RoundingCode.SYMMETRIC_ZERO:
            up = negative
        case RoundingCode.SYMMETRIC_INF:
            up = not negative
        case RoundingCode.CONV_EVEN:
            up = below % 2 == 1
        case RoundingCode.CONV_ODD:
            up = below % 2 == 0
    return below + up


def round_float(
    value: Fraction, fmt: FloatFormat, code: RoundingCode, *, overflow: Overflow = Overflow.SPECIAL, zero_sign: int = 0
) -> int:
    """Round an exact value to a code of `fmt`, once, the exponent unbounded above; subnormals are kept.

    A value that rounds to zero keeps its sign where the format has one for it; `zero_sign` is the sign of a zero value.
    """
    sign = zero_sign if value == 0 else int(value < 0)
    unit = ulp(fmt, value)
    magnitude = abs(round_value(value / unit, code)) * unit
    if magnitude > fmt.max:
        out = overflow_code(fmt, overflow)
    elif magnitude < fmt.min_normal:
        out = int(magnitude / fmt.min_subnormal)
    else:
        exponent = floor_log2(magnitude)
        fraction = int(magnitude / Fraction(2) ** (exponent - fmt.fraction_bits)) & fmt.fraction_mask
        out = (exponent + fmt.bias) << fmt.fraction_bits | fraction
    if fmt.specials is Specials.UNSIGNED_ZERO and out in (0, fmt.nan_code):
        return out
    return out | (fmt.sign_mask if sign else 0)
