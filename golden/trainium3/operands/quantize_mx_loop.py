"""Trainium3's QuantizeMX: blocks of 8 partitions by 4 columns to elements and a scale.

Exactness. A float64 is rounded to odd to FP32's 24 bits, which keeps its exponent; rounding that to an element, of 4 bits
at most, gives what rounding the float64 would have given. An FP32 number times a power of two between 2**-127 and 2**127 is a float64 without error, and is rounded once,
to the element, in integers.
"""

import numpy as np

from bitpath.golden.arrays.bits import code64, magnitude_code, value64
from bitpath.golden.arrays.codec import codes_of, format_of
from bitpath.golden.arrays.kernels import kernel
from bitpath.golden.arrays.parallel import in_parallel, owned, shares
from bitpath.golden.formats.catalogue import BF16, E8M0, FP32, FloatFormat
from bitpath.golden.trainium3.declarations.quad_mx import SCALE_PARTITIONS, X4

FRACTION_BITS, EXPONENT_MASK, SCALE_BIAS = FP32.fraction_bits, FP32.exponent_mask, E8M0.bias
COLUMNS = 1 << 9
"""Columns that are worth a thread; a multiple of a block's four."""


def quantize(x: np.ndarray, fmt: FloatFormat, offset: int) -> tuple[np.ndarray, np.ndarray]:
    """Return element codes [P, F] and scales [P/8, F/4], both uint8.

    Parameters
    ----------
    x : bfloat16, float16, float32 or float64 [P, F]; NaN becomes the largest code where the format has none.
    offset : from the largest biased exponent of a block to its scale.
    """
    elements = np.empty(x.shape, np.uint8)
    scale = np.empty((x.shape[0] // SCALE_PARTITIONS, x.shape[1] // X4), np.uint8)
    nan = fmt.max_code if fmt.nan_code is None else fmt.nan_code
    fields = [
        np.int64(each) for each in (offset, fmt.fraction_bits, fmt.emin, fmt.bias, fmt.max_code, fmt.sign_mask, nan)
    ]

    def work(columns: slice) -> None:
        _quantize(_as_float32(x[:, columns]), elements, scale, columns.start, *fields)

    in_parallel(work, shares(x.shape[1], COLUMNS))
    return elements, scale


def _as_float32(x: np.ndarray) -> np.ndarray:
    """Return numbers as FP32, rounded to odd where it does not hold them, in an array of their own."""
    if x.dtype == np.float64:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            nearest = x.astype(np.float32)
            outward = np.abs(nearest) > np.abs(x)
            inexact = (nearest != x) & np.isfinite(x)
        return (nearest.view(np.uint32) - outward | inexact).view(np.float32)
    if format_of(x.dtype) is BF16:  # the upper half of FP32's code
        return (codes_of(x).astype(np.uint32) << FP32.width - BF16.width).view(np.float32)
    with np.errstate(invalid="ignore"):  # a signalling NaN raises the flag
        return owned(x.astype(np.float32, copy=False))


@kernel
def _quantize(x, codes, scales, start, offset, fraction_bits, emin, bias, largest, sign_mask, nan):
    """Write the codes, uint8 [P, F'], and the scales of float32 [P, F], which are their columns from `start` on."""
    columns = x.shape[1]
    exponent = np.empty(columns, np.int32)
    factor = np.empty(columns, np.float64)
    words = x.view(np.int32)
    for first in range(0, x.shape[0], SCALE_PARTITIONS):
        exponent[:] = 0
        for row in range(first, first + SCALE_PARTITIONS):
            own = words[row]
            for i in range(columns):
                exponent[i] = max(exponent[i], own[i] >> FRACTION_BITS & EXPONENT_MASK)
        for i in range(0, columns, X4):
            biased = max(exponent[i], exponent[i + 1], exponent[i + 2], exponent[i + 3])
            scale = max(biased - offset, 0)
            scales[first // SCALE_PARTITIONS, (start + i) // X4] = scale
            # Data are divided by the stored scale.
            factor[i : i + X4] = value64(np.int64(SCALE_BIAS - scale + 1023) << 52)
        for row in range(first, first + SCALE_PARTITIONS):
            values, out = x[row], codes[row, start : start + columns]
            for i in range(columns):
                word = code64(np.float64(values[i]) * factor[i])
                code = min(magnitude_code(word, fraction_bits, emin, bias, np.int64(1)), largest)
                code |= sign_mask if word < 0 else np.int64(0)
                out[i] = code if values[i] == values[i] else nan
