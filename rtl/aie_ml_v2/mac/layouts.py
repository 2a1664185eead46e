"""Control and operands of a multiply-accumulate lane."""

from amaranth.lib import data
from amaranth.utils import ceil_log2

from bitpath.golden.aie_ml_v2.declarations.codes import MX6, MX9
from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8_FORMATS, INT8
from bitpath.rtl.aie_ml_v2.mac.mac_mode import MacMode

LANE_BITS = INT8.lane_bits
"""Of an accumulator lane, FP32 or INT32; those of 64 bits are not computed here."""
BYTE = 8
"""Bits of a block's exponent, and of its shifts."""
DEPTH = 8
"""Products of a lane that one beat brings, but for MX6's 16 and INT16's 2."""
WORD_BITS = 16
"""Of an element at its widest."""
LANE_OPERAND_BITS = DEPTH * WORD_BITS
"""Of what a lane takes from either tile, at its widest."""
FORMAT_BITS = ceil_log2(len(FLOAT8_FORMATS))
"""Of the index of a float format."""
ELEMENT_BITS = {"int8": 8, "int16": 16, "float16": 16, "float8": 8, "mx6": MX6.width, "mx9": MX9.width}
"""Of an element of either tile, by the name of the mode."""


class MacControl(data.Struct):
    """What an instruction computes: ``+-X @ Y +- acc1 +- acc2``, the bits of the control word.

    ``x_format`` and ``y_format`` count in the ``formats`` of the mode; ``x_signed`` and ``y_signed`` are about integers, as
    is ``shift16``, which multiplies acc1 by 2**16. ``zero_acc1`` leaves acc1 out. Without ``multiplies`` the operands do
    nothing: accumulators are added.
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
    """What a lane takes: elements of a row of X and of a column of Y from bit 0 up, and their blocks' bytes."""

    control: MacControl
    high: 1  # MX9's second beat
    x: LANE_OPERAND_BITS
    y: LANE_OPERAND_BITS
    x_exponent: BYTE
    y_exponent: BYTE
    x_shift: BYTE
    y_shift: BYTE
