"""Layouts of requests and results of the conversion units.

Rounding and saturation codes are those of the control registers: ``golden.aie_ml_v2.declarations.codes``.
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
"""Bits of a rounding code of crRnd."""
SATURATION_BITS = 2
"""Bits of a saturation code of crSat."""
MX_EXPONENT_BITS = 8
"""Bits of a block's shared exponent, the same as FP32's."""
CODE_BITS = MX9.width
"""Bits of the widest element; shorter ones are sign-extended."""
IMAGE_BITS = 8 * MX9.block_bytes
"""Bits of the largest block in memory."""
SHORT_LANE_BITS = 16
"""Bits of the widest vector element for a 32-bit accumulator lane."""
ACC_LANE_BITS = 32
"""Bits of an accumulator lane; two lanes form one of 64 bits."""


class MxCode(enum.Enum, shape=2):
    """Codes of the MX block formats."""

    MX9 = 0
    MX6 = 1
    MX4 = 2

    @property
    def fmt(self) -> MxFormat:
        """Return the declared format."""
        return {MxCode.MX9: MX9, MxCode.MX6: MX6, MxCode.MX4: MX4}[self]

    @classmethod
    def of(cls, fmt: MxFormat) -> "MxCode":
        """Return the code of a declared format."""
        return cls[fmt.name.upper()]


Lanes16 = data.ArrayLayout(FP32.width, MX_BLOCK)
"""16 FP32 codes: the elements of a block, or an accumulator register."""


class MxControl(data.Struct):
    """Block format and rounding code of a conversion to MX."""

    block_format: MxCode
    rounding: ROUNDING_BITS


class MxRequest(data.Struct):
    """The 16 FP32 elements of a block and their control."""

    lanes: Lanes16
    control: MxControl


class MxBlock(data.Struct):
    """An MX block: exponent, shift bits (bit j for elements 2j and 2j + 1), signed codes."""

    exponent: MX_EXPONENT_BITS
    shift: MX_PAIRS
    codes: data.ArrayLayout(signed(CODE_BITS), MX_BLOCK)


class MxResult(data.Struct):
    """A block and its bytes in memory: exponent, shift byte, codes as a little-endian bit stream, zeros above."""

    block: MxBlock
    image: IMAGE_BITS


class SrsControl(data.Struct):
    """Control of SRS: accumulator lanes of 32 bits, or 64 with ``acc64``; output elements of the shorter or, with ``wide``,
    the longer width in ``SRS_MODES``."""

    acc64: 1
    wide: 1
    shift: signed(SRS_SHIFTS.stop.bit_length())
    rounding: ROUNDING_BITS
    saturation: SATURATION_BITS
    is_signed: 1


class UpsControl(data.Struct):
    """Control of UPS: accumulator lanes of 32 bits, or 64 with ``acc64``; input elements of the shorter or, with ``wide``,
    the longer width in ``UPS_MODES``."""

    acc64: 1
    wide: 1
    shift: unsigned((UPS_SHIFTS.stop - 1).bit_length())
    saturation: SATURATION_BITS
    is_signed: 1


def acc_bits(lanes: int) -> int:
    """Return the bits of ``lanes`` accumulator lanes of 32 bits."""
    return lanes * ACC_LANE_BITS


def vector_bits(lanes: int) -> int:
    """Return the bits of the widest vector for ``lanes`` accumulator lanes of 32 bits."""
    return lanes * SHORT_LANE_BITS
