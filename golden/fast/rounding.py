"""Codes to float64 and back, for large arrays.

Bit-identical to `codec.decode_array` and `codec.encode_array`, which hold the checks.
"""

from functools import cache

import numpy as np

from bitpath.golden.codec import decode_array
from bitpath.golden.fast.backend import cuts, in_parallel, owned
from bitpath.golden.fast.bits import code64, kernel, magnitude_code
from bitpath.golden.spec.formats import FP32, FloatFormat, Specials
from bitpath.golden.spec.rounding import Rounding

BLOCK = 1 << 18
"""Values that a core takes at a time."""
TABLE_BITS = 16
"""Of the widest codes that are looked up: a table of half a megabyte."""


def decodes(fmt: FloatFormat) -> bool:
    """Whether `decode` takes a format: of 32 bits only FP32, which numpy has; a table of the others would be too large."""
    return fmt.width <= TABLE_BITS or fmt == FP32


def decode(fmt: FloatFormat, codes: np.ndarray) -> np.ndarray:
    """Return the values of codes, of an unsigned dtype of the format's width, as float64."""
    if fmt.width <= TABLE_BITS:
        return np.asarray(_table(fmt)[codes])
    # float64 holds every FP32 number; what is left is to make every NaN the one.
    with np.errstate(invalid="ignore"):
        values = np.asarray(codes).view(np.float32).astype(np.float64)
    values[np.isnan(values)] = np.nan
    return values


@cache
def _table(fmt: FloatFormat) -> np.ndarray:
    """Return the value of every code of a format of at most `TABLE_BITS`."""
    return decode_array(fmt, np.arange(1 << fmt.width))


def encode(fmt: FloatFormat, values: np.ndarray, rounding: Rounding, overflow_code: int) -> np.ndarray:
    """Round float64 values, none of them beyond what the format can express, to int64 codes."""
    flat = owned(values).reshape(-1)
    codes = np.empty(flat.shape, np.int64)
    fields = _fields(fmt, rounding, overflow_code)
    in_parallel(lambda part: _encode(flat[part], codes[part], *fields), cuts(flat.size, BLOCK))
    return codes.reshape(values.shape)


def _fields(fmt: FloatFormat, rounding: Rounding, overflow_code: int) -> tuple[np.int64, ...]:
    unsigned_zero = fmt.specials is Specials.UNSIGNED_ZERO
    nan = -1 if fmt.nan_code is None else fmt.nan_code
    return tuple(
        np.int64(each)
        for each in (
            *(fmt.fraction_bits, fmt.emin, fmt.bias, rounding is Rounding.RNE),
            *(fmt.max_code, overflow_code, fmt.sign_mask, nan, unsigned_zero),
        )
    )


@kernel
def _encode(values, codes, fraction_bits, emin, bias, to_nearest, largest, beyond, sign_mask, nan, unsigned_zero):
    for i in range(values.shape[0]):
        word = code64(values[i])
        code = magnitude_code(word, fraction_bits, emin, bias, to_nearest)
        code = beyond if code > largest else code
        signed = code | (sign_mask if word < 0 else np.int64(0))
        # Neither NaN nor, where there is no -0, a zero has a sign.
        code = code if (code == 0) & (unsigned_zero != 0) | (code == nan) else signed
        codes[i] = code if values[i] == values[i] else nan
