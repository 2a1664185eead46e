"""The packers' first conversion: Dst words to the intermediate format.

Ref: tt-isa-documentation 3930471, Packers/FormatConversion; ttsim v1.10.0. Floats with 8 exponent bits are carried as
FP32 words and those with 5 as FP16 words, whose unused low fraction bits are 0; integers as sign and magnitude.
"""

from bitpath.golden.tensix.declarations.formats import Format

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
