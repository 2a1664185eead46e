"""Layouts of requests, results and flags of the lane-by-lane conversions."""

from amaranth import signed
from amaranth.lib import data

from bitpath.golden.aie_ml_v2.declarations.codes import FLOAT_SHIFTS, MX_BLOCK
from bitpath.golden.aie_ml_v2.declarations.packing import PACK_BITS
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.convert.layouts import SATURATION_BITS, MxBlock, MxCode

SHIFT_SHAPE = signed(FLOAT_SHIFTS.stop.bit_length())
"""Shape of a shift: the fraction bits of the integers, -32 to 31."""
WIDE_BITS = 2 * max(PACK_BITS)
"""Bits of a lane of the wide register: one element before PACK, or two of half that size."""


class ToFloatFlags(data.Struct):
    """Flags of the conversion to FP32: the result is 0, and it is not the exact number."""

    zero: 1
    inexact: 1


class ToFixFlags(data.Struct):
    """Flags of the conversion from FP32: the result is 0, the operand is NaN, the result is not the exact number, and it is
    beyond 32 bits."""

    zero: 1
    invalid: 1
    inexact: 1
    huge: 1


def fix_request(lanes: int) -> data.StructLayout:
    """Return the layout of integers, or of FP32 codes, and of their shift."""
    return data.StructLayout({"lanes": data.ArrayLayout(FP32.width, lanes), "shift": SHIFT_SHAPE})


def fix_result(lanes: int, flags: type[data.Struct]) -> data.StructLayout:
    """Return the layout of converted numbers and of their flags, each the OR over the lanes."""
    return data.StructLayout({"lanes": data.ArrayLayout(FP32.width, lanes), "flags": flags})


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
