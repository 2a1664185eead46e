"""SFPSTORE on one lane.

Ref: tt-isa-documentation 3930471, SFPSTORE of both chips; ttsim v1.10.0 for FP32 denormals on Wormhole.
"""

from bitpath.golden.scalar.checked import checked
from bitpath.golden.tensix.declarations.numerics import TensixNumerics


@checked
def stored(numerics: TensixNumerics, lane: int, mode: int) -> int:
    """Return the Dst word of a lane by SFPSTORE's mode, 1 to 15; opaque 16 bits (6, 8, 14, 15) in the register's order."""
    low, high = lane % (1 << 16), lane >> 16
    sign, exponent, fraction = lane >> 31, lane >> 23 & 0xFF, lane % (1 << 23)
    if mode in (12, 13) and numerics.sfpu_sign_magnitude and sign:
        lane = sign << 31 | ((1 << 32) - lane) % (1 << 31)
    match mode:
        case 1:
            biased = exponent - 127 + 15
            return sign << 15 | (0 if biased <= 0 else 0x7FFF if biased > 31 else biased << 10 | fraction >> 13)
        case 2:
            return high if exponent else sign << 15
        case 3:
            return sign << 31 if exponent == 0 and numerics.sfpstore_flush else lane
        case 5 | 13:
            return sign << 15 | 16 << 10 | lane % (1 << 10)
        case 6 | 14:
            return low
        case 7:
            return _logical(high) << 16 | low
        case 8:
            return sign << 15 | low % (1 << 15)
        case 9:
            return _logical(low) << 16 | high
        case 11:
            return 0
        case 15:
            return high
    return lane


def _logical(half: int) -> int:
    """Return the upper register half s | m7 | e8 as s | e8 | m7."""
    return half >> 15 << 15 | half % (1 << 8) << 7 | (half >> 8) % (1 << 7)
