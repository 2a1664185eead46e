"""What travels to and from the conversion units.

Rounding and saturation codes are the control registers' own: ``golden.spec.aie_ml_v2``.
"""

from amaranth import signed, unsigned
from amaranth.lib import data, enum

from bitpath.golden.aie_ml_v2.declarations.codes import (
    MX4,
    MX6,
    MX9,
    MX_BLOCK,
    MX_PAIRS,
    SRS_SHIFTS,
    UPS_SHIFTS,
    MxFormat,
)
from bitpath.golden.formats.catalogue import FP32

ROUNDING_BITS = 4
"""Of a code of crRnd."""
SATURATION_BITS = 2
"""Of a code of crSat."""
MX_EXPONENT_BITS = 8
"""Of the exponent that a block shares, as wide as FP32's."""
CODE_BITS = MX9.width
"""Of an element at its widest; the shorter ones are sign-extended."""
IMAGE_BITS = 8 * MX9.block_bytes
"""Of a block in memory at its widest."""
SHORT_LANE_BITS = 16
"""Of a vector at its widest for each 32-bit accumulator lane."""
ACC_LANE_BITS = 32
"""Of an accumulator lane; two make one of 64 bits."""


class MxCode(enum.Enum, shape=2):
    """The block formats."""

    MX9 = 0
    MX6 = 1
    MX4 = 2

    @property
    def fmt(self) -> MxFormat:
        """The declaration of it."""
        return {MxCode.MX9: MX9, MxCode.MX6: MX6, MxCode.MX4: MX4}[self]

    @classmethod
    def of(cls, fmt: MxFormat) -> "MxCode":
        """The code of a format."""
        return cls[fmt.name.upper()]


Lanes16 = data.ArrayLayout(FP32.width, MX_BLOCK)
"""FP32 codes of a block, or of an accumulator register."""


class MxControl(data.Struct):
    """What a conversion to MX makes."""

    block_format: MxCode
    rounding: ROUNDING_BITS


class MxRequest(data.Struct):
    """A block's elements in FP32."""

    lanes: Lanes16
    control: MxControl


class MxBlock(data.Struct):
    """A block: exponent, shift bits (bit j for elements 2j and 2j + 1), signed codes."""

    exponent: MX_EXPONENT_BITS
    shift: MX_PAIRS
    codes: data.ArrayLayout(signed(CODE_BITS), MX_BLOCK)


class MxResult(data.Struct):
    """A block, and its bytes in memory: exponent, shift byte, codes as a little-endian bit stream, zeros above the last."""

    block: MxBlock
    image: IMAGE_BITS


class SrsControl(data.Struct):
    """What SRS makes of accumulators: from lanes of 32 bits, or 64 with ``acc64``, to the shorter or, with ``wide``, the
    longer of what ``golden.spec.aie_ml_v2.SRS_MODES`` has for them."""

    acc64: 1
    wide: 1
    shift: signed(SRS_SHIFTS.stop.bit_length())
    rounding: ROUNDING_BITS
    saturation: SATURATION_BITS
    is_signed: 1


class UpsControl(data.Struct):
    """What UPS makes of vectors: to lanes of 32 bits, or 64 with ``acc64``, from the shorter or, with ``wide``, the longer
    of what ``golden.spec.aie_ml_v2.UPS_MODES`` has for them."""

    acc64: 1
    wide: 1
    shift: unsigned((UPS_SHIFTS.stop - 1).bit_length())
    saturation: SATURATION_BITS
    is_signed: 1


def acc_bits(lanes: int) -> int:
    """Bits of so many accumulator lanes of 32 bits."""
    return lanes * ACC_LANE_BITS


def vector_bits(lanes: int) -> int:
    """Bits of the vector that belongs to so many accumulator lanes, at its widest."""
    return lanes * SHORT_LANE_BITS
