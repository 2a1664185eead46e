"""FP32 to FP16 as unpackers and packers convert it, compiled."""

import numpy as np

from bitpath.golden.arrays.kernels import piece


@piece
def narrow_exponent(word):
    """Convert an FP32 word: the fraction truncated, large values all ones, small ones a zero with sign.

    A value below FP16's normal range by less than one binade keeps its fraction under a zero exponent.
    """
    exponent = np.int32(word >> 23 & 0xFF) - 112
    code = np.int32(exponent << 10 | word >> 13 & 0x3FF)
    code = np.int32(0x7FFF) if exponent > 31 else code
    code = np.int32(0) if exponent < 0 else code
    return np.uint32(word >> 31 << 15 | code)
