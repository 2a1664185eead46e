"""Formats that the unpackers and packers share: block floats, FP8, and the formats that early conversion gives."""

from bitpath.golden.tensix.declarations.formats import BLOCK, Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics

# Block floating point: 16 datums of sign and magnitude under one exponent byte, to and from BF16 and FP16.
#
# Ref: tt-isa-documentation 3930471, FloatBitPatterns and Packers/FormatConversion; ttsim v1.10.0 for the wrapping exponent
# and the clamp.


EXPONENT_STREAM_ALIGNMENT = 16
"""The exponents before the datums are padded to a multiple of 16 bytes."""


def exponent_stream_bytes(count: int) -> int:
    """Return the bytes that the exponents of `count` datums take in L1."""
    return -(-count // BLOCK // EXPONENT_STREAM_ALIGNMENT) * EXPONENT_STREAM_ALIGNMENT


# The packers' first conversion: Dst words to the intermediate format.
#
# Ref: tt-isa-documentation 3930471, Packers/FormatConversion; ttsim v1.10.0. Floats with 8 exponent bits are carried as
# FP32 words and those with 5 as FP16 words, whose unused low fraction bits are 0; integers as sign and magnitude.


INTEGERS = (Format.INT32, Format.INT16, Format.INT8)

EARLY_FORMATS = {
    (True, False): (Format.FP32, Format.TF32, Format.BF16, Format.BFP8, Format.INT32, Format.INT8),
    (True, True): (Format.FP32, Format.BF16, Format.INT32, Format.INT8),
    (False, False): (Format.BF16, Format.TF32, Format.BFP8, Format.FP16, Format.BFP8A, Format.INT16),
    (False, True): (Format.BF16, Format.FP16, Format.BFP8A, Format.FP8, Format.INT16),
}
"""Intermediate formats by whether Dst words have 32 bits, and whether the conversion is raw."""
UPPER_HALF_FORMATS = (Format.INT16,)
"""Intermediate formats that take the upper half of a 32-bit Dst word, in the register's bit order (ttsim; TT-ISA has none)."""

_KEPT_FRACTION_BITS = {
    Format.FP32: 23,
    Format.TF32: 10,
    Format.BF16: 7,
    Format.BFP8: 6,
    Format.FP16: 10,
    Format.BFP8A: 6,
    Format.FP8: 2,
}
RAW_BFP8A_FRACTION_BITS = 7


def kept_fraction_bits(mid_format: Format, *, raw: bool) -> int:
    """Return the fraction bits of a float intermediate format."""
    return RAW_BFP8A_FRACTION_BITS if raw and mid_format is Format.BFP8A else _KEPT_FRACTION_BITS[mid_format]


# FP8 in L1: E5M2, or E4M3 with the mode bit that Blackhole's unpackers and packers have.
#
# E4M3 (sign, 4 exponent bits, 3 fraction bits) has FP16's exponent less 8. Unpacking fills the fraction of a magnitude of all
# ones with ones; exponent 0 keeps its fraction, which the Matrix unit reads as zero. Packing truncates the fraction::
#
#     FP16 exponent    <= 8      9 to 23        >= 24
#     E4M3             sign 0    e - 8, m >> 7  sign 0x7F
#
# Ref: ttsim v1.10.0, whose `Unp_LF8_4b_exp` and `Pac_LF8_4b_exp` are this bit; tt-llk, where the format has the code 26.


E4M3_BIAS = 8
"""FP16's exponent less that of E4M3."""
E4M3_LARGEST = 0x7F


def check_e4m3(numerics: TensixNumerics, fmt: Format, e4m3: bool) -> bool:
    """Return True for the format E4M3; raise ValueError where the chip has none. The bit changes FP8 alone."""
    if e4m3 and fmt is Format.FP8 and not numerics.fp8_e4m3:
        raise ValueError("e4m3 must be False with FP8 and numerics without fp8_e4m3, not True")
    return e4m3 and fmt is Format.FP8
