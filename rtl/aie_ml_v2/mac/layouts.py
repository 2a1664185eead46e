"""Control word and operands of a multiply-accumulate lane."""

from amaranth.lib import data
from amaranth.utils import ceil_log2

from bitpath.golden.aie_ml_v2.declarations.codes import MX6, MX9
from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8_FORMATS, INT8
from bitpath.rtl.aie_ml_v2.mac.mac_mode import MacMode

LANE_BITS = INT8.lane_bits
"""Bits of an accumulator lane, FP32 or INT32; two of them hold an INT64."""
CHAINED_SUM_BITS = 34
"""34 bits hold two products of 16-bit integers, of either sign: less than ``2**33`` in magnitude, and a sign."""
BYTE = 8
"""Bits of a block's exponent, and of its shift bits."""
DEPTH = 8
"""Products of a lane in one beat; MX6 has 16, INT16 has 2."""
WORD_BITS = 16
"""Bits of the widest element."""
LANE_OPERAND_BITS = DEPTH * WORD_BITS
"""Bits of a lane's operand from one tile: 8 elements of 16 bits, the widest mode."""
FORMAT_BITS = ceil_log2(len(FLOAT8_FORMATS))
"""Bits of the index of a float format within its mode."""
ELEMENT_BITS = {"int8": 8, "int16": 16, "float16": 16, "float8": 8, "mx6": MX6.width, "mx9": MX9.width}
"""Bits of an element by the name of its mode."""


class MacControl(data.Struct):
    """Control word of an instruction: ``+-X @ Y +- acc1 +- acc2``.

    ``x_format`` and ``y_format`` index the ``formats`` of the mode. ``x_signed``, ``y_signed`` and ``shift16`` (acc1 times
    2**16) apply to integers. ``zero_acc1`` replaces acc1 by 0. Without ``multiplies`` the products are 0 and the
    instruction only adds accumulators.
    """

    mode: MacMode
    x_format: FORMAT_BITS
    y_format: FORMAT_BITS
    x_signed: 1
    y_signed: 1
    multiplies: 1
    negate_products: 1
    zero_acc1: 1
    use_acc2: 1
    negate_acc1: 1
    negate_acc2: 1
    shift16: 1


class LaneOperands(data.Struct):
    """Operands of a lane: a row of X and a column of Y, element 0 at bit 0, and the bytes of their MX blocks."""

    control: MacControl
    high: 1  # set in the second beat of MX9
    x: LANE_OPERAND_BITS
    y: LANE_OPERAND_BITS
    x_exponent: BYTE
    y_exponent: BYTE
    x_shift: BYTE
    y_shift: BYTE
