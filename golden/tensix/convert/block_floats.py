"""Block floating point: 16 datums of sign and magnitude under one exponent byte, to and from BF16 and FP16.

Ref: tt-isa-documentation 3930471, FloatBitPatterns and Packers/FormatConversion; ttsim v1.10.0 for the wrapping exponent
and the clamp.
"""

from bitpath.golden.tensix.declarations.formats import BLOCK

EXPONENT_STREAM_ALIGNMENT = 16
"""The exponents before the datums are padded to a multiple of 16 bytes."""


def exponent_stream_bytes(count: int) -> int:
    """Return the bytes that the exponents of `count` datums take in L1."""
    return -(-count // BLOCK // EXPONENT_STREAM_ALIGNMENT) * EXPONENT_STREAM_ALIGNMENT
