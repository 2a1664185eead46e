"""FP8 in L1: E5M2, or E4M3 with the mode bit that Blackhole's unpackers and packers have.

E4M3 (sign, 4 exponent bits, 3 fraction bits) has FP16's exponent less 8. Unpacking fills the fraction of a magnitude of all
ones with ones; exponent 0 keeps its fraction, which the Matrix unit reads as zero. Packing truncates the fraction::

    FP16 exponent    <= 8      9 to 23        >= 24
    E4M3             sign 0    e - 8, m >> 7  sign 0x7F

Ref: ttsim v1.10.0, whose `Unp_LF8_4b_exp` and `Pac_LF8_4b_exp` are this bit; tt-llk, where the format has the code 26.
"""

from bitpath.golden.tensix.declarations.formats import Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics

E4M3_BIAS = 8
"""FP16's exponent less that of E4M3."""
E4M3_LARGEST = 0x7F


def check_e4m3(numerics: TensixNumerics, fmt: Format, e4m3: bool) -> bool:
    """Return True for the format E4M3; raise ValueError where the chip has none. The bit changes FP8 alone."""
    if e4m3 and fmt is Format.FP8 and not numerics.fp8_e4m3:
        raise ValueError("e4m3 must be False with FP8 and numerics without fp8_e4m3, not True")
    return e4m3 and fmt is Format.FP8
