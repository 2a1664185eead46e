"""Conversions of FP32: to narrower floats, and from and to integers with a binary point."""

from typing import Any

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import FLOAT_SHIFTS, FloatSaturation, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8_FORMATS
from bitpath.golden.aie_ml_v2.declarations.mover import WORD_BITS, Sr2
from bitpath.golden.arrays.arguments import check_array, checked, dtype_of, integer, member
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, FP16, FloatFormat
from bitpath.golden.scalar.checked import flag_bits
from bitpath.golden.scalar.codec import Overflow, overflow_code

# Integers with a binary point to FP32 and back, as the scalar unit converts them.
#
# Points without public documents are listed in `bitpath.golden.aie_ml_v2.declarations.choices.CHOICES`.
#
# Ref: llvm-aie for the shifts, the cycles and the status register; UG1529, which emulates the conversion of vectors.


HIGHEST = (1 << WORD_BITS - 1) - 1


@checked
def fix_to_float(n: np.ndarray, shift: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Convert integers times ``2**-shift`` to FP32, rounded to nearest even.

    Parameters
    ----------
    n : int32 of any shape.
    shift : -32 to 31, the integers' fraction bits.

    Returns
    -------
    FP32 codes and flags of SR2 (zero and inexact), both uint32 of the same shape.

    Raises
    ------
    TypeError, ValueError : another dtype or shift.
    """
    check_array("n", n, np.int32)
    shift = integer("shift", shift, FLOAT_SHIFTS)
    exact = np.ldexp(n.astype(np.float64), -shift)
    rounded = np.asarray(exact.astype(np.float32))
    flags = np.where(n == 0, Sr2.TO_FLOAT_ZERO, 0) | np.where(rounded != exact, Sr2.TO_FLOAT_INEXACT, 0)
    return rounded.view(np.uint32), np.asarray(flags.astype(np.uint32))


@checked
def float_to_fix(bits: np.ndarray, shift: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Convert FP32 times ``2**shift`` to integers, rounded to nearest even and saturated.

    Infinity saturates by its sign, NaN gives 2**31 - 1; subnormals count.

    Parameters
    ----------
    bits : FP32 codes, uint32 of any shape.
    shift : -32 to 31, the integers' fraction bits.

    Returns
    -------
    int32, and flags of SR2 (zero, invalid, inexact, huge) as uint32, both of the same shape. NaN is invalid and inexact,
    infinity huge and inexact; zero is the result 0.

    Raises
    ------
    TypeError, ValueError : another dtype or shift.
    """
    check_array("bits", bits, np.uint32)
    shift = integer("shift", shift, FLOAT_SHIFTS)
    with np.errstate(invalid="ignore"):  # a signaling NaN
        exact = np.ldexp(bits.view(np.float32).astype(np.float64), shift)
    nan = np.isnan(exact)
    rounded = np.rint(np.where(nan, HIGHEST, exact))
    result = np.clip(rounded, -HIGHEST - 1, HIGHEST)
    flags = (
        np.where(result == 0, Sr2.TO_FIX_ZERO, 0)
        | np.where(nan, Sr2.TO_FIX_INVALID, 0)
        | np.where(result != exact, Sr2.TO_FIX_INEXACT, 0)
        | np.where(result != rounded, Sr2.TO_FIX_HUGE, 0)
    )
    return np.asarray(result.astype(np.int32)), np.asarray(flags.astype(np.uint32))


# FP32 to BF16, FP16 and 8-bit floats.
#
# Results are bit-identical to `bitpath.golden.exact.aie_ml_v2.narrow` on every code.
#
# Ref: FP32 to BF16 as measured on first-generation silicon in all ten rounding codes; llvm-aie for the shift operand and
# the control registers.


Saturation = FloatSaturation | int | bool
"""crFPConvSat, or True for both of its bits and False for none."""
_FLOAT8_DTYPES = {DTYPES[fmt]: fmt for fmt in FLOAT8_FORMATS}


@checked
def f32_to_bf16(bits: np.ndarray, *, rounding: RoundingCode | int, saturate: Saturation = False) -> np.ndarray:
    """Convert FP32 codes, uint32 of any shape, to BF16 codes, uint16.

    Parameters
    ----------
    rounding : crRnd code; a carry may run into infinity. Subnormals are kept. NaN keeps its sign and high fraction bits.
    saturate : crFPConvSat, 0 to 3: bit 0 makes the largest finite number of a finite one beyond it, bit 1 of an infinity.
        Else both give infinity. True is 3, False 0.

    Raises
    ------
    TypeError, ValueError : another dtype or code.
    """
    return _narrow(bits, BF16, rounding, saturate, 0).astype(np.uint16)


@checked
def f32_to_fp16(bits: np.ndarray, *, rounding: RoundingCode | int, saturate: Saturation = False) -> np.ndarray:
    """Convert FP32 codes to FP16 codes, uint16; otherwise as `f32_to_bf16`.

    Raises
    ------
    TypeError, ValueError : another dtype or code.
    """
    return _narrow(bits, FP16, rounding, saturate, 0).astype(np.uint16)


@checked
def f32_to_fp8(
    bits: np.ndarray, dtype: Any, *, rounding: RoundingCode | int, saturate: Saturation = False, shift: int = 0
) -> np.ndarray:
    """Convert FP32 codes times ``2**shift`` to 8-bit float codes, uint8; otherwise as `f32_to_bf16`.

    Parameters
    ----------
    dtype : float8_e4m3, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2 or float8_e5m2fnuz.
    shift : -32 to 31.

    In a format without infinity NaN takes its place.

    Raises
    ------
    TypeError, ValueError : another dtype, code or shift.
    """
    fmt = _FLOAT8_DTYPES[dtype_of("dtype", dtype, *_FLOAT8_DTYPES)]
    shift = integer("shift", shift, FLOAT_SHIFTS)
    return _narrow(bits, fmt, rounding, saturate, shift).astype(np.uint8)


def _narrow(
    bits: np.ndarray, fmt: FloatFormat, rounding: RoundingCode | int, saturate: Saturation, shift: int
) -> np.ndarray:
    code = member("rounding", rounding, RoundingCode)
    saturation = flag_bits("saturate", saturate, FloatSaturation)
    check_array("bits", bits, np.uint32)
    # The compiler is loaded with the first call.
    from bitpath.golden.aie_ml_v2.convert import narrow_loop

    beyond = [
        overflow_code(fmt, Overflow.SATURATE if each in saturation else Overflow.SPECIAL) for each in FloatSaturation
    ]
    return narrow_loop.narrow(bits, fmt, code, beyond, shift)
