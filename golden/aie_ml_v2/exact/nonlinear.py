"""exp2 and tanh on scalars, decided exactly.

Ref: UG1639 and llvm-aie for exp2's argument; no public document describes either approximation, so the model
returns correctly rounded values (`bitpath.golden.aie_ml_v2.declarations.choices.CHOICES`).
"""

from fractions import Fraction
from math import floor

from bitpath.golden.aie_ml_v2.declarations.codes import EXP2_FRACTION_BITS, EXP2_OFFSET, EXP2_OFFSET_CODE
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.exact.fused import trace_float_lane
from bitpath.golden.formats.catalogue import BF16, FP32, FloatFormat
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.rounding import round_to_format

TANH_IS_ONE = 4
"""From here on tanh is nearer to 1 than to the BF16 number below it: 1 - tanh(4) < 2**-9 / 2."""


@checked
def exp2(numerics: AieNumerics, code: int, fmt: FloatFormat) -> int:
    """Return 2**x as a BF16, FP16 or BF20 code for an FP32 code x, through the header's addition and the instruction."""
    total = trace_float_lane(numerics, (), (), code, EXP2_OFFSET_CODE).result
    return exp2_instruction(total, fmt)


@checked
def exp2_instruction(code: int, fmt: FloatFormat) -> int:
    """Return 2**(t - 895) for an FP32 code t; the instruction reads 11 of its fraction bits."""
    t = decode(FP32, code)
    if t.kind is Kind.NAN:
        return fmt.nan_code
    if t.kind is Kind.INFINITY:
        return 0 if t.sign else fmt.max_code
    scaled = floor((t.value - EXP2_OFFSET) * (1 << EXP2_FRACTION_BITS))
    exponent, index = divmod(scaled, 1 << EXP2_FRACTION_BITS)
    if exponent > fmt.emax:
        return fmt.max_code
    if exponent < fmt.emin:
        return 0
    # The significand s of fmt.precision bits that is nearest to 2**(index / 2048) * 2**fraction_bits: the largest whose
    # midpoint below is below it. Both are compared by their 2048th powers, which are integers; none are ever equal but at 0.
    power = 1 << EXP2_FRACTION_BITS
    target = 1 << index + power * (fmt.fraction_bits + 1)
    low, high = 1 << fmt.fraction_bits, 1 << fmt.precision
    while low < high:
        middle = (low + high + 1) // 2
        if (2 * middle - 1) ** power < target:
            low = middle
        else:
            high = middle - 1
    code = ((exponent + fmt.bias) << fmt.fraction_bits) + low - (1 << fmt.fraction_bits)
    return min(code, fmt.max_code)


@checked
def tanh(code: int) -> int:
    """Return the BF16 code nearest to the hyperbolic tangent of an FP32 code."""
    x = decode(FP32, code)
    sign = BF16.sign_mask if x.sign else 0
    if x.kind is Kind.NAN:
        return BF16.nan_code
    one = round_to_format(Fraction(1), BF16)
    if x.kind is Kind.INFINITY or abs(x.value) >= TANH_IS_ONE:
        return sign | one
    if x.is_zero:
        return sign
    # Convergents of the continued fraction x / (1 + x**2 / (3 + x**2 / (5 + ...))) lie by turns above and below.
    depth = 2
    while True:
        codes = {round_to_format(convergent(abs(x.value), each), BF16) for each in (depth, depth + 1)}
        if len(codes) == 1:
            return sign | codes.pop()
        depth += 1


def convergent(x: Fraction, depth: int) -> Fraction:
    """Return the continued fraction of tanh, cut after a number of partial denominators."""
    denominator = Fraction(2 * depth - 1)
    for k in range(depth - 1, 0, -1):
        denominator = 2 * k - 1 + x * x / denominator
    return x / denominator
