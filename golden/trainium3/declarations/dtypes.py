"""Dtypes that the engines and the DMA engines of a NeuronCore read and write, and the rules of a cast.

Ref: "Trainium3 Architecture Guide for NKI", AWS Neuron documentation, 2026-08 (here ARCH3); ``nki.isa`` and
``nki.language`` reference pages, NKI 0.6 (here ISA); "DMA overview" of the NKI guides, 2026-08 (here DMA); release notes of
NKI and Neuron, 2026 (here RN).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from bitpath.golden.formats.catalogue import BF16, E4M3, E4M3FN, E5M2, FP16, FP32, TF32, FloatFormat
from bitpath.golden.formats.sources import choices, chosen, documented, inferred


@dataclass(frozen=True, kw_only=True)
class IntegerFormat:
    """Integers of `width` bits, in two's complement where they are signed."""

    width: int
    signed: bool

    @property
    def lowest(self) -> int:
        return -(1 << self.width - 1) if self.signed else 0

    @property
    def highest(self) -> int:
        return (1 << self.width - self.signed) - 1


FORMATS: Mapping[str, FloatFormat | IntegerFormat] = {
    "fp32": FP32,
    "tf32": TF32,
    "bf16": BF16,
    "fp16": FP16,
    "e4m3": E4M3,
    "e4m3fn": E4M3FN,
    "e5m2": E5M2,
    "int8": IntegerFormat(width=8, signed=True),
    "int16": IntegerFormat(width=16, signed=True),
    "int32": IntegerFormat(width=32, signed=True),
    "uint8": IntegerFormat(width=8, signed=False),
    "uint16": IntegerFormat(width=16, signed=False),
    "uint32": IntegerFormat(width=32, signed=False),
}
"""Formats by the names that a cast takes. TF32 lies in the upper 19 bits of a word of 32 bits."""
TF32_SPARE_BITS = FP32.width - TF32.width
"""Bits of a TF32 word below its fraction: written as zeros."""


def container_bits(name: str) -> int:
    """Return the bits that an element of a dtype takes in memory."""
    return FP32.width if name == "tf32" else FORMATS[name].width


CHOICES = choices(
    {
        "A cast goes through FP32, from integers to integers too: INT32 16777217 becomes 16777216": documented(
            "ISA tensor_copy and dma_copy, DMA: casts go through FP32"
        ),
        "A copy between equal dtypes moves bits, NaN payloads included": documented("ISA tensor_copy, DMA"),
        "A cast to a float rounds to nearest even, keeps subnormals and does not saturate; NaN becomes the canonical one": chosen(
            "as the output cast of the engines; no document states the DMA's rounding or its NaN"
        ),
        "A cast to an integer rounds to nearest even and saturates": inferred(
            "RN: what the hardware does on the engines; assumed for the DMA engines"
        ),
        "A cast to an integer saturates infinity and makes NaN 0": chosen("no document says"),
        "TF32 lies in a word of 32 bits: written with 13 zeros below 10 fraction bits, rounded to nearest even when read": chosen(
            "no document says what the 13 bits hold, or how they are dropped"
        ),
    }
)
"""Rules that no field switches."""
