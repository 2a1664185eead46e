"""AIE-ML v2's conversions of FP32 to narrower floats, in integers: significands have 24 bits."""

from collections.abc import Sequence

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.golden.arrays.bits import RISES, code64, shift_round
from bitpath.golden.arrays.kernels import kernel
from bitpath.golden.arrays.parallel import cuts, in_parallel, owned
from bitpath.golden.formats.catalogue import FP32, FloatFormat, Specials

SHARE = 1 << 18
"""Values that a core takes at a time."""
FRACTION_BITS, PRECISION, EXPONENT_MASK, BIAS = FP32.fraction_bits, FP32.precision, FP32.exponent_mask, FP32.bias
LARGEST_SHIFT = 26
"""A shift this long leaves less than half a unit of any significand, and sums of both stay in 32 bits."""


def narrow(bits: np.ndarray, fmt: FloatFormat, rounding: RoundingCode, beyond: Sequence[int], shift: int) -> np.ndarray:
    """Return codes of a format, uint16, of FP32 codes, uint32 of any shape, times ``2**shift``.

    Parameters
    ----------
    beyond : codes of a finite magnitude above the largest, and of infinity.
    """
    words = owned(bits).reshape(-1).view(np.int32)
    codes = np.empty(words.shape, np.uint16)
    infinity = -1 if fmt.infinity_code is None else fmt.infinity_code
    nan = -1 if fmt.nan_code is None else fmt.nan_code
    own = (fmt.fraction_bits, fmt.emin, fmt.bias, fmt.max_code, fmt.sign_mask, infinity, nan)
    fields = (*own, fmt.specials is Specials.UNSIGNED_ZERO, *beyond, shift, *RISES[rounding.mode])
    numbers = [np.int32(each) for each in fields]
    in_parallel(lambda part: _narrow(words[part], codes[part], *numbers), cuts(words.size, SHARE))
    return codes.reshape(bits.shape)


@kernel
def _narrow(
    words, codes, fraction_bits, emin, bias, largest, sign_mask, infinity, nan, unsigned_zero, beyond, of_infinity, scale, to_nearest, up
):  # fmt: skip
    for i in range(words.shape[0]):
        word = words[i]
        biased = word >> FRACTION_BITS & EXPONENT_MASK
        fraction = word & ((1 << FRACTION_BITS) - 1)
        significand = fraction | np.int32(biased > 0) << FRACTION_BITS
        # Normalised, so that a positive scale of a subnormal finds its leading bit where a normal number's is. 0 stays.
        length = (code64(np.float64(significand)) >> 52) - 1022
        missing = min(PRECISION - length, PRECISION)
        significand = np.int32(significand << missing)
        exponent = max(biased, 1) - missing - BIAS + scale
        # Below the smallest normal number, and for zero, the last place stays where it is.
        place = max(exponent, emin)
        distance = np.int32(min(FRACTION_BITS - fraction_bits + place - exponent, LARGEST_SHIFT))
        kept = abs(shift_round(np.int32(-significand if word < 0 else significand), distance, to_nearest, up))
        # The hidden bit of `kept` adds the 1 missing in the exponent, which a subnormal lacks; a carry adds one more.
        code = (place + bias - 1 << fraction_bits) + kept
        code = beyond if code > largest else code
        if biased == EXPONENT_MASK:
            code = of_infinity
            if fraction > 0:
                # NaN keeps its high fraction bits where the format has more than one.
                code = nan if infinity < 0 else infinity | max(fraction >> FRACTION_BITS - fraction_bits, 1)
        signed = (word < 0) & ((unsigned_zero == 0) | (code != 0) & (code != nan))
        codes[i] = code | (sign_mask if signed else 0)
