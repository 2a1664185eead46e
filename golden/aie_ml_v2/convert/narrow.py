"""FP32 to BF16, FP16 and 8-bit floats.

Bit-identical to `bitpath.golden.exact.aie_ml_v2.narrow` on every code.

Ref: FP32 to BF16 as measured on first-generation silicon in all ten rounding codes; llvm-aie for the shift operand and
the control registers.
"""

from typing import Any

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import FLOAT_SHIFTS, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8_FORMATS
from bitpath.golden.arrays import backend
from bitpath.golden.arrays.arguments import check_array, checked, dtype_of, integer, member
from bitpath.golden.arrays.codec import DTYPES, LOOPS, encode_array
from bitpath.golden.arrays.rounding import shift_round
from bitpath.golden.formats.catalogue import BF16, FP16, FP32, FloatFormat, Specials
from bitpath.golden.scalar.codec import Overflow, overflow_code

LARGEST_SHIFT = 40
"""Significands have 24 bits: a shift this long leaves less than half a unit of any."""
_FLOAT8_DTYPES = {DTYPES[fmt]: fmt for fmt in FLOAT8_FORMATS}


@checked
def f32_to_bf16(bits: np.ndarray, *, rounding: RoundingCode | int, saturate: bool = False) -> np.ndarray:
    """Convert FP32 codes, uint32 of any shape, to BF16 codes, uint16.

    Parameters
    ----------
    rounding : crRnd code; a carry may run into infinity. Subnormals are kept. NaN keeps its sign and high fraction bits.
    saturate : crFPConvSat: overflow and infinite inputs give the largest finite number.

    Raises
    ------
    TypeError, ValueError : another dtype or code.
    """
    return _narrow(bits, BF16, rounding, saturate, 0).astype(np.uint16)


@checked
def f32_to_fp16(bits: np.ndarray, *, rounding: RoundingCode | int, saturate: bool = False) -> np.ndarray:
    """Convert FP32 codes to FP16 codes, uint16; otherwise as `f32_to_bf16`.

    Raises
    ------
    TypeError, ValueError : another dtype or code.
    """
    return _narrow(bits, FP16, rounding, saturate, 0).astype(np.uint16)


@checked
def f32_to_fp8(
    bits: np.ndarray, dtype: Any, *, rounding: RoundingCode | int, saturate: bool = False, shift: int = 0
) -> np.ndarray:
    """Convert FP32 codes times ``2**shift`` to 8-bit float codes, uint8; otherwise as `f32_to_bf16`.

    Parameters
    ----------
    dtype : float8_e4m3, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2 or float8_e5m2fnuz.
    shift : -32 to 31.

    Without infinity in the format, overflow gives NaN.

    Raises
    ------
    TypeError, ValueError : another dtype, code or shift.
    """
    fmt = _FLOAT8_DTYPES[dtype_of("dtype", dtype, *_FLOAT8_DTYPES)]
    shift = integer("shift", shift, FLOAT_SHIFTS)
    return _narrow(bits, fmt, rounding, saturate, shift).astype(np.uint8)


def _narrow(bits: np.ndarray, fmt: FloatFormat, rounding: RoundingCode | int, saturate: bool, shift: int) -> np.ndarray:
    code = member("rounding", rounding, RoundingCode)
    check_array("bits", bits, np.uint32)
    # Rounded to nearest even, finite numbers are the codec's, except an overflow to NaN, whose sign is kept here.
    values = bits.view(np.float32)
    if (
        code is RoundingCode.CONV_EVEN
        and (saturate or fmt.infinity_code is not None)
        and backend.loops(LOOPS, bits.size)
        and not np.isnan(values).any()
    ):
        overflow = Overflow.SATURATE if saturate else Overflow.SPECIAL
        return encode_array(fmt, np.ldexp(values.astype(np.float64), shift), overflow=overflow)
    words = bits.astype(np.int64)
    biased = words >> FP32.fraction_bits & FP32.exponent_mask
    fraction = words & FP32.fraction_mask
    minus = words & FP32.sign_mask != 0
    # Normalised, so that a positive shift of a subnormal finds its leading bit where a normal number's is.
    significand = fraction | (biased > 0).astype(np.int64) << FP32.fraction_bits
    missing = FP32.precision - np.frexp(significand.astype(np.float64))[1]
    significand <<= missing
    exponent = np.maximum(biased, 1) - missing - FP32.bias + shift
    # Below the smallest normal number, and for zero, the last place stays where it is.
    place = np.maximum(exponent, fmt.emin)
    distance = np.minimum(FP32.fraction_bits - fmt.fraction_bits + place - exponent, LARGEST_SHIFT)
    kept = np.abs(shift_round(np.where(minus, -significand, significand), distance, code.mode))
    # The hidden bit of `kept` adds the 1 missing in the exponent, which a subnormal lacks; a carry adds one more.
    codes = (place + fmt.bias - 1 << fmt.fraction_bits) + kept
    # An infinity reads as 2**128 here, which no shift brings into a format's range.
    beyond = overflow_code(fmt, Overflow.SATURATE if saturate else Overflow.SPECIAL)
    codes = np.where(codes > fmt.max_code, beyond, codes)
    nan = (biased == FP32.exponent_mask) & (fraction > 0)
    payload = fraction >> FP32.fraction_bits - fmt.fraction_bits
    if fmt.infinity_code is None:
        codes = np.where(nan, fmt.nan_code, codes)
    else:
        codes = np.where(nan, fmt.infinity_code | np.maximum(payload, 1), codes)
    signed = minus
    if fmt.specials is Specials.UNSIGNED_ZERO:
        signed = minus & (codes != 0) & (codes != fmt.nan_code)
    return np.asarray(codes | np.where(signed, fmt.sign_mask, 0))
