"""FP32 to BF16, FP16 and 8-bit floats.

Bit-identical to `bitpath.golden.exact.aie_ml_v2.narrow` on every code.

Ref: FP32 to BF16 as measured on first-generation silicon in all ten rounding codes; llvm-aie for the shift operand and
the control registers.
"""

from typing import Any

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import FLOAT_SHIFTS, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8_FORMATS
from bitpath.golden.aie_ml_v2.declarations.status import FloatSaturation
from bitpath.golden.arrays.arguments import check_array, checked, dtype_of, integer, member
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, FP16, FloatFormat
from bitpath.golden.scalar.arguments import flag_bits
from bitpath.golden.scalar.codec import Overflow, overflow_code

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
