"""Layouts of the requests and results of the packer."""

from dataclasses import dataclass

from amaranth.lib import data

from bitpath.golden.tensix.declarations.formats import COLUMNS
from bitpath.rtl.common.config import power_of_two
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS, DstRow
from bitpath.rtl.tensix.sfpu.stochastic_round import RANDOM_BITS
from bitpath.rtl.tensix.unpack.layouts import EXPONENT_BITS, ROW_BITS, ConversionConfig

# Configuration of the packer.


MOST_ROWS = 2
"""Rows that a packer takes in a cycle at most."""


@dataclass(frozen=True, kw_only=True)
class PackerConfig(ConversionConfig, unit="packer"):
    """Configuration of a packer.

    Attributes
    ----------
    numerics : arithmetic of the conversions.
    rows : rows of 16 datums that it converts in a cycle: 1 or 2.
    """

    rows: int = power_of_two(1, MOST_ROWS, 1)


DESCALE_SHIFT_BITS = 5
"""Width of the right shift from INT32, of 31 magnitude bits, to INT8."""


class PackControl(data.Struct):
    """Configuration of a conversion, as the arguments of ``golden.tensix.pack``; a field of 0 switches its function off.

    - ``accumulate`` adds the row to the one in L1.
    - ``edge_minus_infinity``: masked floats become minus infinity, otherwise +0.
    - ``exponent_threshold``: floats of a smaller exponent become +0; must be 0 for integers.
    - ``descale_shift`` applies to INT32 to INT8 without ``raw``.
    - ``round_10b`` makes TF32 the intermediate format of FP32, and of BF16 packed to FP16, unless ``raw``. With
      ``round_10b_fp16`` also of FP16 from a 32-bit Dst; from a 16-bit one FP16 is narrowed from BF16.
    - ``e4m3`` makes FP8 in L1 E4M3 where the chip has it.
    """

    mid_format: FORMAT_BITS
    out_format: FORMAT_BITS
    dst32: 1
    raw: 1
    unsigned: 1
    relu: 2
    relu_threshold: 16
    accumulate: 1
    edge_minus_infinity: 1
    exponent_threshold: EXPONENT_BITS
    descale_shift: DESCALE_SHIFT_BITS
    round_10b: 1
    e4m3: 1


class PackRequest(data.Struct):
    """A row of Dst, the row of L1 that it replaces (read with ``accumulate`` only), and the edge mask, column 0 in bit 0.

    ``stochastic`` rounds floats in early conversion by random bits, one number for each column.
    """

    row: DstRow
    old: ROW_BITS
    masked: COLUMNS
    control: PackControl
    stochastic: 1
    random: data.ArrayLayout(RANDOM_BITS, COLUMNS)


def pack_request_layout(rows: int) -> type[PackRequest] | data.ArrayLayout:
    """Return the layout of the rows that enter the packer together, each with its own control."""
    return PackRequest if rows == 1 else data.ArrayLayout(PackRequest, rows)


class PackedRow(data.Struct):
    """A row of 16 datums for L1, the first in the lowest bits, zeros above the last; ``exponent`` is that of a block, else 0."""

    datums: ROW_BITS
    exponent: EXPONENT_BITS


def packed_layout(rows: int) -> type[PackedRow] | data.ArrayLayout:
    """Return the layout of the rows that leave the packer together."""
    return PackedRow if rows == 1 else data.ArrayLayout(PackedRow, rows)
