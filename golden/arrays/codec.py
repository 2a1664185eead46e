"""Codec of number formats: classifies codes, decodes them exactly, and rounds exact values to codes.

The scalar functions work in unbounded Python integers. The array functions carry values in float64, which holds every
finite number of every format of the catalogue exactly: at most 24 significant bits, exponents from -149 to 127. All
rounding is done here, in integers; ml_dtypes only gives arrays of codes their dtype.
"""

from functools import cache

import ml_dtypes
import numpy as np

from bitpath.golden.arrays.arguments import one_of
from bitpath.golden.formats.catalogue import (
    BF16,
    E2M1,
    E2M3,
    E3M2,
    E3M4,
    E4M3,
    E4M3FN,
    E4M3FNUZ,
    E5M2,
    E5M2FNUZ,
    E8M0,
    FP16,
    FP32,
    FloatFormat,
    Rounding,
    Specials,
)
from bitpath.golden.scalar.codec import Overflow, overflow_code

DTYPES = {
    E4M3FN: np.dtype(ml_dtypes.float8_e4m3fn),
    E4M3: np.dtype(ml_dtypes.float8_e4m3),
    E5M2: np.dtype(ml_dtypes.float8_e5m2),
    E3M4: np.dtype(ml_dtypes.float8_e3m4),
    E4M3FNUZ: np.dtype(ml_dtypes.float8_e4m3fnuz),
    E5M2FNUZ: np.dtype(ml_dtypes.float8_e5m2fnuz),
    E3M2: np.dtype(ml_dtypes.float6_e3m2fn),
    E2M3: np.dtype(ml_dtypes.float6_e2m3fn),
    E2M1: np.dtype(ml_dtypes.float4_e2m1fn),
    E8M0: np.dtype(ml_dtypes.float8_e8m0fnu),
    BF16: np.dtype(ml_dtypes.bfloat16),
    FP16: np.dtype(np.float16),
    FP32: np.dtype(np.float32),
}
"""The numpy dtype that carries codes of each format; TF32 has no dtype."""

NO_CODE = -1
"""In place of the code of a value that a format lacks."""
_UNSIGNED = {width: np.dtype(f"u{width // 8}") for width in (8, 16, 32)}
"""Unsigned dtype of the codes of a format, by the format's width in bits."""
TABLE_BITS = 16
"""Width of the widest codes that are looked up: a table of half a megabyte."""
_FORMATS = {dtype: fmt for fmt, dtype in DTYPES.items()}


def codes_of(array: np.ndarray, name: str = "array") -> np.ndarray:
    """View an array of a float dtype as its codes, uint8, uint16 or uint32; errors call it `name`.

    Raises
    ------
    TypeError : the dtype carries no format of the catalogue.
    ValueError : an array of 4 or 6 bits has bits above these in a byte.
    """
    fmt = format_of(array.dtype)
    codes = array.view(np.dtype(f"u{array.dtype.itemsize}"))
    largest = (1 << fmt.width) - 1
    if fmt.width < 8 and np.any(codes > largest):
        raise ValueError(f"{name} has {array.dtype} bytes above {largest}; codes are 0 to {largest}, in the low bits")
    return codes


def format_of(dtype: np.dtype) -> FloatFormat:
    """Return the format that a numpy dtype carries.

    Raises
    ------
    TypeError : the dtype carries no format of the catalogue.
    """
    fmt = _FORMATS.get(np.dtype(dtype))
    if fmt is None:
        raise TypeError(f"dtype must be {one_of(_FORMATS)}, not {np.dtype(dtype)}")
    return fmt


def decode_array(fmt: FloatFormat, codes: np.ndarray) -> np.ndarray:
    """Return the values of an array of codes as float64, exactly; NaN codes as the quiet NaN.

    Raises
    ------
    ValueError : a code does not fit in the format's width.
    """
    if codes.dtype == _UNSIGNED.get(fmt.width):
        if fmt.width <= TABLE_BITS:
            return np.asarray(_table(fmt)[codes])
        if fmt == FP32:
            return _decode_fp32(codes)
    codes = codes.astype(np.int64)
    if np.any((codes < 0) | (codes >= 1 << fmt.width)):
        raise ValueError(f"codes reach from {codes.min()} to {codes.max()}; {fmt.name} codes are {fmt.width} bits")
    biased = codes >> fmt.fraction_bits & fmt.exponent_mask
    magnitude = codes & ~fmt.sign_mask
    subnormal = (biased == 0) & fmt.has_subnormals
    significand = (codes & fmt.fraction_mask) + np.where(subnormal, 0, 1 << fmt.fraction_bits)
    exponent = np.where(subnormal, fmt.emin, biased - fmt.bias) - fmt.fraction_bits
    values = np.ldexp(significand.astype(np.float64), exponent)
    if fmt.specials is Specials.UNSIGNED_ZERO:
        values = np.where(codes == fmt.nan_code, np.nan, values)
    elif fmt.specials is not Specials.FINITE:
        values = np.where(magnitude > fmt.max_code, np.nan, values)
    if fmt.infinity_code is not None:
        values = np.where(magnitude == fmt.infinity_code, np.inf, values)
    return np.where((codes & fmt.sign_mask != 0) & ~np.isnan(values), -values, values)


@cache
def _table(fmt: FloatFormat) -> np.ndarray:
    """The value of every code of a format of at most `TABLE_BITS`."""
    return decode_array(fmt, np.arange(1 << fmt.width))


def _decode_fp32(codes: np.ndarray) -> np.ndarray:
    """The values of uint32 codes: float64 holds every FP32 number. Every NaN becomes the quiet one."""
    with np.errstate(invalid="ignore"):
        values = np.asarray(codes).view(np.float32).astype(np.float64)
    values[np.isnan(values)] = np.nan
    return values


def flushed(fmt: FloatFormat, values: np.ndarray) -> np.ndarray:
    """Return float64 values with a format's subnormals replaced by zero of their sign."""
    return np.where(np.abs(values) < float(fmt.min_normal), np.copysign(0.0, values), values)


def encode_array(
    fmt: FloatFormat,
    values: np.ndarray,
    *,
    rounding: Rounding = Rounding.RNE,
    overflow: Overflow = Overflow.SPECIAL,
    dtype: np.dtype | type = np.int64,
) -> np.ndarray:
    """Round values to codes, once; the inverse of `decode_array`.

    Parameters
    ----------
    values : float64 or float32 of any shape. NaN becomes the format's `nan_code`, infinity overflows.
    rounding : RNE or RTZ.
    overflow : result for a magnitude above the largest finite number after rounding with unbounded exponent.
    dtype : integers that hold the format's codes.

    Returns
    -------
    Codes of that dtype, of the same shape.

    Raises
    ------
    TypeError : `values` are neither float64 nor float32.
    ValueError : another `rounding`, or a value that the format lacks: NaN; zero, a negative value or one below the smallest
        number, in a format without zero and sign; overflow, in a format that can only saturate.
    """
    if values.dtype not in (np.float64, np.float32):
        raise TypeError(f"values must be float64 or float32, not {values.dtype}")
    if rounding not in (Rounding.RNE, Rounding.RTZ):
        raise ValueError(f"rounding must be RNE or RTZ, not {rounding.name}")
    if fmt.nan_code is None and np.isnan(values).any():
        raise ValueError(f"values hold NaN, which {fmt.name} cannot express")
    if not fmt.signed and np.any(~np.isnan(values) & (np.signbit(values) | (values < float(fmt.min_normal)))):
        raise ValueError(f"values go below {float(fmt.min_normal)}, the smallest number of {fmt.name}")
    # The compiler is loaded with the first call.
    from bitpath.golden.arrays import codec_loops

    # A kernel cannot raise, which an overflow has to where there is nothing to overflow to.
    saturates = fmt.specials is not Specials.FINITE or overflow is Overflow.SATURATE
    beyond = overflow_code(fmt, overflow) if saturates else NO_CODE
    codes = codec_loops.encode(fmt, values, rounding, beyond, np.int64 if beyond == NO_CODE else dtype)
    if not saturates and np.any(codes == NO_CODE):
        overflow_code(fmt, overflow)
    return codes.astype(dtype, copy=False)
