"""Layouts of the requests to the unpacker."""

from dataclasses import dataclass

from amaranth.lib import data

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, DST32
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, TensixNumerics
from bitpath.rtl.common.config import UnitConfig, power_of_two
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS, DstRow

# Configuration of the unpacker and the packer.


@dataclass(frozen=True, kw_only=True)
class ConversionConfig(UnitConfig, unit="conversion"):
    """Configuration of an unpacker or a packer.

    Attributes
    ----------
    numerics : arithmetic of the conversions.
    rows : rows of 16 datums that it converts in a cycle: 1, 2, 4 or 8; a packer has at most 2.
    """

    numerics: TensixNumerics = WORMHOLE.numerics
    rows: int = power_of_two(1, BLOCK_ROWS, 1)


@dataclass(frozen=True, kw_only=True)
class TurnBufferConfig(UnitConfig, unit="turn buffer"):
    """Configuration of a turn buffer.

    Attributes
    ----------
    rows : rows of 16 datums that it takes and gives in a cycle: 1, 2, 4 or 8.
    """

    rows: int = power_of_two(1, BLOCK_ROWS, 1)


ROW_BITS = COLUMNS * DST32.width
"""Bits of a row of 16 datums in L1, at 32 bits each."""
EXPONENT_BITS = 8
"""Width of the exponent that a block of 16 datums shares in L1."""


class UnpackControl(data.Struct):
    """Formats of a conversion, a pair of ``golden.tensix.convert.unpack.CONVERSIONS``.

    - ``unsigned`` applies to INT8 in L1, ``e4m3`` to FP8 where the chip has E4M3.
    - ``to_dst`` makes words of Dst: 32 bits for FP32, TF32 and INT32, which are copied, else 16 bits in the low half.
    """

    l1_format: FORMAT_BITS
    register_format: FORMAT_BITS
    unsigned: 1
    e4m3: 1
    to_dst: 1


def unpack_request_layout(rows: int) -> data.StructLayout:
    """Return the layout of 64 bytes of L1, the first datum in the lowest bits, and one exponent a row for block formats.

    They hold up to ``rows`` rows of 16 datums: one of 32 bits, two of 16, four of 8, eight of 4 or 2.
    """
    return data.StructLayout(
        {"datums": ROW_BITS, "exponents": data.ArrayLayout(EXPONENT_BITS, rows), "control": UnpackControl}
    )


def unpacked_layout(rows: int) -> data.ArrayLayout:
    """Return the layout of unpacked rows."""
    return data.ArrayLayout(DstRow, rows)
