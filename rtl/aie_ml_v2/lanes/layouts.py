"""Layouts of requests and results of PACK, UNPACK and the conversion from MX."""

from dataclasses import dataclass

from amaranth.lib import data

from bitpath.golden.aie_ml_v2.declarations.codes import MX_BLOCK, PACK_BITS
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, AieNumerics
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.convert.layouts import SATURATION_BITS, MxBlock, MxCode
from bitpath.rtl.common.config import UnitConfig, in_range

# Configurations of the lane-by-lane conversions.


@dataclass(frozen=True, kw_only=True)
class PackConfig(UnitConfig, unit="pack"):
    """Configuration of PACK and UNPACK.

    Attributes
    ----------
    lanes : lanes of 16 bits in the wide register, 1 to 64; 32 and 64 are the machine's X and Y.
    """

    lanes: int = in_range(1, 64, 4)


@dataclass(frozen=True, kw_only=True)
class MxWidenConfig(UnitConfig, unit="mx widen"):
    """Configuration of the conversion from MX to FP32.

    Attributes
    ----------
    blocks : blocks of one request, 1 to 4; the machine takes 64 elements, 4 blocks.
    numerics : choices where the documents leave the result open; uses ``mx_nan_block``.
    """

    blocks: int = in_range(1, 4, 1)
    numerics: AieNumerics = AIE_ML_V2.numerics


WIDE_BITS = 2 * max(PACK_BITS)
"""Bits of a lane of the wide register: one element before PACK, or two of half that size."""


class PackControl(data.Struct):
    """Control of PACK and, with ``unpack``, of UNPACK: narrow elements of 4 bits, or of 8 with ``wide``; signed or not;
    crSat, which UNPACK does not read."""

    unpack: 1
    wide: 1
    is_signed: 1
    saturation: SATURATION_BITS


def pack_request(lanes: int) -> data.StructLayout:
    """Return the layout of a register and its control; UNPACK reads the lower half."""
    return data.StructLayout({"data": WIDE_BITS * lanes, "control": PackControl})


def mx_request(blocks: int) -> data.StructLayout:
    """Return the layout of blocks and their format."""
    return data.StructLayout({"blocks": data.ArrayLayout(MxBlock, blocks), "block_format": MxCode})


def mx_elements(blocks: int) -> data.ArrayLayout:
    """Return the layout of the FP32 codes of blocks, element 0 lowest."""
    return data.ArrayLayout(FP32.width, MX_BLOCK * blocks)
