"""The nonlinear functions exp2 and tanh of the vector unit.

Results are bit-identical to `bitpath.golden.aie_ml_v2.exact` on every FP32 code. Points without public documents are listed in
`bitpath.golden.aie_ml_v2.declarations.choices.CHOICES`.

Ref: UG1639 and llvm-aie for exp2's argument; AM027 for the formats.
"""

import numpy as np

from bitpath.golden.aie_ml_v2.convert.floats import f32_to_bf16
from bitpath.golden.aie_ml_v2.declarations.codes import EXP2_FRACTION_BITS, EXP2_OFFSET, EXP2_OFFSET_CODE, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.mover import BF20
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.mac.fused_dot import add_accumulators
from bitpath.golden.arrays.arguments import check_array, check_choice, checked
from bitpath.golden.arrays.codec import DTYPES, encode_array
from bitpath.golden.formats.catalogue import BF16, FP16, FP32, FloatFormat

EXP2_FORMATS = {"bf16": BF16, "fp16": FP16, "fp32": BF20}
"""Formats of exp2's result by name; in FP32 the bits below BF20's fraction are 0."""
TANH_IS_ARGUMENT = 2.0**-13
"""Below it tanh(x) lies less than half an FP32 unit below x, so that no FP32 number, and so no BF16 tie, lies between."""
_EXPONENT_LIMIT = 1 << 10
"""Beyond the exponents of both formats."""


def _significands(fmt: FloatFormat) -> np.ndarray:
    """Return 2**(i / 2048) for all i, rounded to `fmt.precision` bits.

    float64 decides it: no value is as near to a tie as its error (all are compared with the exact ones by a test).
    """
    index = np.arange(1 << EXP2_FRACTION_BITS)
    return np.rint(np.exp2(index / (1 << EXP2_FRACTION_BITS)) * (1 << fmt.fraction_bits)).astype(np.int64)


_SIGNIFICANDS = {fmt: _significands(fmt) for fmt in EXP2_FORMATS.values()}


@checked
def exp2(x: np.ndarray, *, format: str = "bf16", numerics: AieNumerics | None = None) -> np.ndarray:
    """Return 2**x through the header's addition of 895.001 and the instruction.

    Parameters
    ----------
    x : float32 of any shape.
    format : "bf16", "fp16" or "fp32", of the result.
    numerics : numerics of the addition.

    Returns
    -------
    bfloat16, float16, or float32 of 12 significant bits: the nearest to 2**(k + f / 2048), with k and f the integer and
    11 fraction bits of the sum less 895. +0 below the normal numbers, the largest finite number above, also for infinity.

    Raises
    ------
    TypeError, ValueError : another dtype or format.
    """
    check_array("x", x, np.float32)
    offset = np.array(EXP2_OFFSET_CODE, np.uint32).view(np.float32)
    return exp2_instruction(add_accumulators(x, offset, numerics=numerics), format=format)


@checked
def exp2_instruction(t: np.ndarray, *, format: str = "bf16") -> np.ndarray:
    """Return 2**(t - 895) as the instruction does, which is `exp2` without its addition.

    Raises
    ------
    TypeError, ValueError : as `exp2`.
    """
    check_array("t", t, np.float32)
    check_choice("format", format, EXP2_FORMATS)
    target = EXP2_FORMATS[format]
    nan = np.isnan(t)
    # Exact in float64 within the limits: t has 24 bits, 10 for the limits and 11 for the fraction.
    argument = np.clip(
        np.where(nan, np.float32(0), t).astype(np.float64) - EXP2_OFFSET, -_EXPONENT_LIMIT, _EXPONENT_LIMIT
    )
    scaled = np.floor(argument * (1 << EXP2_FRACTION_BITS)).astype(np.int64)
    exponent, index = scaled >> EXP2_FRACTION_BITS, scaled & (1 << EXP2_FRACTION_BITS) - 1
    # The hidden bit of the significand adds the 1 missing in the exponent; a carry adds one more.
    codes = (exponent + target.bias - 1 << target.fraction_bits) + _SIGNIFICANDS[target][index]
    codes = np.where(exponent > target.emax, target.max_code, np.minimum(codes, target.max_code))
    codes = np.where(exponent < target.emin, 0, codes)
    codes = np.where(nan, target.nan_code, codes)
    if target is BF20:
        return (codes << FP32.width - BF20.width).astype(np.uint32).view(np.float32)
    return codes.astype(np.uint16).view(DTYPES[target])


@checked
def tanh(x: np.ndarray) -> np.ndarray:
    """Return the hyperbolic tangent of float32 `x` as the nearest bfloat16, ties to even.

    Raises
    ------
    TypeError : another dtype.
    """
    check_array("x", x, np.float32)
    bits = np.ascontiguousarray(x).view(np.uint32).reshape(x.shape)
    # Above the limit float64's error is far below the distance to any tie (a test compares the numbers next to all).
    large = encode_array(BF16, np.tanh(np.where(np.isnan(x), np.float32(0), x).astype(np.float64)))
    small = f32_to_bf16(bits, rounding=RoundingCode.SYMMETRIC_ZERO)
    codes = np.where(np.abs(x) < TANH_IS_ARGUMENT, small, large)
    return np.where(np.isnan(x), BF16.nan_code, codes).astype(np.uint16).view(DTYPES[BF16])
