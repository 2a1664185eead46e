"""Layouts of requests and results of the conversion units.

Rounding and saturation codes are those of the control registers: ``golden.aie_ml_v2.declarations.codes``.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from amaranth import signed, unsigned
from amaranth.lib import data, enum

from bitpath.golden.aie_ml_v2.declarations.codes import (
    BFP16EBS8,
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


class Bfp16Control(data.Struct):
    """Rounding code of a conversion to bfp16ebs8."""

    rounding: ROUNDING_BITS


class Bfp16Request(data.Struct):
    """The 8 FP32 elements of a block of bfp16ebs8 and their control."""

    lanes: data.ArrayLayout(FP32.width, BFP16EBS8.elements)
    control: Bfp16Control


class Bfp16Block(data.Struct):
    """A block of bfp16ebs8: exponent and signed codes."""

    exponent: MX_EXPONENT_BITS
    codes: data.ArrayLayout(signed(BFP16EBS8.width), BFP16EBS8.elements)


class Bfp16Result(data.Struct):
    """A block of bfp16ebs8; memory holds eight as one tile, so that a block has no image of its own."""

    block: Bfp16Block


@dataclass(frozen=True, kw_only=True)
class BlockLayouts:
    """Layouts of a conversion to blocks of one size.

    Attributes
    ----------
    formats : the formats, which the request chooses where there are several.
    request, control, block, result : layouts of the streams and of their parts.
    """

    formats: tuple[MxFormat, ...]
    request: Any
    control: Any
    block: Any
    result: Any

    @property
    def elements(self) -> int:
        return self.formats[0].elements

    @property
    def has_shifts(self) -> bool:
        """Return True if pairs have shift bits."""
        return self.formats[0].has_shifts


class Blocks(Enum):
    """Blocks that a conversion unit makes."""

    MX = "mx"
    BFP16EBS8 = "bfp16ebs8"

    @property
    def layouts(self) -> BlockLayouts:
        return _LAYOUTS[self]


_LAYOUTS = {
    Blocks.MX: BlockLayouts(
        formats=tuple(code.fmt for code in MxCode), request=MxRequest, control=MxControl, block=MxBlock, result=MxResult
    ),
    Blocks.BFP16EBS8: BlockLayouts(
        formats=(BFP16EBS8,), request=Bfp16Request, control=Bfp16Control, block=Bfp16Block, result=Bfp16Result
    ),
}


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
