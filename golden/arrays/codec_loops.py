"""Numbers to codes, as `codec.encode_array` does after its checks."""

import numpy as np

from bitpath.golden.arrays.bits import code64, magnitude_code
from bitpath.golden.arrays.kernels import kernel
from bitpath.golden.arrays.parallel import cuts, in_parallel, owned
from bitpath.golden.formats.catalogue import FloatFormat, Rounding, Specials

BLOCK = 1 << 18
"""Values that a core takes at a time."""


def encode(
    fmt: FloatFormat, values: np.ndarray, rounding: Rounding, overflow_code: int, dtype: np.dtype | type
) -> np.ndarray:
    """Round float64 or float32 values to codes, those beyond the largest to `overflow_code`.

    No value is NaN if the format has none.
    """
    flat = owned(values).reshape(-1)
    codes = np.empty(flat.shape, dtype)
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
        word = code64(np.float64(values[i]))
        code = magnitude_code(word, fraction_bits, emin, bias, to_nearest)
        code = beyond if code > largest else code
        signed = code | (sign_mask if word < 0 else np.int64(0))
        # Neither NaN nor, where there is no -0, a zero has a sign.
        code = code if (code == 0) & (unsigned_zero != 0) | (code == nan) else signed
        codes[i] = code if values[i] == values[i] else nan
