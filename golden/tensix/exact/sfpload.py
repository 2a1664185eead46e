"""SFPLOAD on one lane.

Ref: tt-isa-documentation 3930471, SFPLOAD of both chips; ttsim v1.10.0.
"""

from bitpath.golden.scalar.checked import checked
from bitpath.golden.tensix.declarations.numerics import TensixNumerics


@checked
def loaded(numerics: TensixNumerics, word: int, mode: int, *, old: int = 0, fp16_infinity: bool = False) -> int:
    """Return the lane after SFPLOAD, by its mode, 1 to 15, of a Dst word; opaque 16 bits (6 to 9, 14, 15) in the register's order."""
    sign, low = word >> 15, word % (1 << 10)
    match mode:
        case 1:
            exponent = word >> 10 & 0x1F
            if fp16_infinity and word % (1 << 15) == 0x7FFF:
                return sign << 31 | 255 << 23
            return sign << 31 | (exponent + 127 - 15 if exponent else 0) << 23 | low << 13
        case 2 | 7:
            return word << 16
        case 5:
            return sign << 31 | low % (1 << (7 if numerics.sfpu_sign_magnitude else 8))
        case 8:
            return sign << 31 | word % (1 << 15)
        case 11:
            return 0
        case 12 if numerics.sfpu_sign_magnitude:
            return _twos_complement(word >> 31, word % (1 << 31))
        case 13:
            return _twos_complement(sign, low) if numerics.sfpu_sign_magnitude else sign << 31 | low
        case 14:
            return old >> 16 << 16 | word
        case 15:
            return word << 16 | old % (1 << 16)
    return word


def _twos_complement(sign: int, magnitude: int) -> int:
    return (-magnitude if sign else magnitude) % (1 << 32)
