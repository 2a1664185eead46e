"""SFP_STOCH_RND on one lane: an FP32 number with fewer fraction bits, or a float or a shifted integer as a bounded integer.

Ref: tt-isa-documentation, SFPSTOCHRND and its three pages of flavours, commit 585749d.
"""

from bitpath.golden.scalar.checked import checked
from bitpath.golden.tensix.declarations.numerics import StochasticCompare, TensixNumerics

RANDOM_BITS = 23
KEPT_FRACTION_BITS = {0: 10, 1: 7}
"""Fraction bits by mode, FP16A and FP16B."""
LARGEST = {2: 255, 3: 127, 4: 255, 5: 127, 6: 65535, 7: 32767}
"""Largest magnitude by mode; the odd ones keep the sign."""


@checked
def rounds_up(numerics: TensixNumerics, discarded: int, count: int, bits: int) -> bool:
    """True if a magnitude with `count` discarded bits goes up, by 23 random bits."""
    if numerics.stochastic_compare is StochasticCompare.TOP_BITS:
        return discarded >= bits % (1 << RANDOM_BITS) >> RANDOM_BITS - count
    return discarded << RANDOM_BITS - count >= bits % (1 << RANDOM_BITS)


@checked
def stochastic_round(numerics: TensixNumerics, code: int, mode: int, bits: int, shift: int = 0) -> int:
    """Return the lane's new word: an FP32 code, or a sign and magnitude; 0x400000 as bits rounds to nearest.

    The modes 4 and 5 divide a sign and magnitude by 2**shift; the others take an FP32 code.
    """
    sign, exponent, fraction = code >> 31, code >> 23 & 0xFF, code & 0x7FFFFF
    if mode in KEPT_FRACTION_BITS:
        if exponent in (0, 255):
            return sign << 31 | 255 << 23 if exponent else 0
        count = 23 - KEPT_FRACTION_BITS[mode]
        kept, rest = divmod(exponent << 23 | fraction, 1 << count)
        return sign << 31 | kept + rounds_up(numerics, rest, count, bits) << count
    if mode in (4, 5):
        units = code % (1 << 31) << 23 >> shift
    elif exponent < 126:
        return 0
    else:
        units = (1 << 23 | fraction) << exponent >> 127
    whole, rest = divmod(units, 1 << 23)
    magnitude = min(whole + rounds_up(numerics, rest, 23, bits), LARGEST[mode])
    return (sign << 31 if mode % 2 and magnitude else 0) | magnitude
