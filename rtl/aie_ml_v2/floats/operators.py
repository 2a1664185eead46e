"""The lane operators of AIE-ML v2's conversions, with their latencies.

Ref: llvm-aie, itineraries: FP32 to narrower floats gives its result in cycle 3 of the instruction, BF16 to integers and
16-bit floats to FP32 in cycle 2, as those between FP32 and integers with a binary point.
"""

from bitpath.golden.aie_ml_v2.declarations.scalar import WORD_BITS
from bitpath.golden.aie_ml_v2.declarations.status import FLOOR_FLAGS, NARROW_FLAGS
from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.rtl.aie_ml_v2.floats.fix_float import FixToFloat, FloatToFix
from bitpath.rtl.aie_ml_v2.floats.float_lanes import INTEGER_BITS, FloorLane, LaneOperator, NarrowLane, WidenLane
from bitpath.rtl.aie_ml_v2.floats.layouts import (
    TO_FIX_FLAGS,
    TO_FLOAT_FLAGS,
    NarrowControl,
    ShiftControl,
    WidenControl,
    flags_layout,
)

FLOAT_NARROW = LaneOperator(
    component=NarrowLane,
    i_bits=FP32.width,
    o_bits=FP16.width,
    control=NarrowControl,
    flags=flags_layout(NARROW_FLAGS.bits),
    steps=("request", "result"),
)
FLOAT_WIDEN = LaneOperator(
    component=WidenLane, i_bits=FP16.width, o_bits=FP32.width, control=WidenControl, flags=None, steps=("result",)
)
FLOAT_FLOOR = LaneOperator(
    component=FloorLane,
    i_bits=BF16.width,
    o_bits=INTEGER_BITS,
    control=ShiftControl,
    flags=flags_layout(FLOOR_FLAGS.bits),
    steps=("result",),
)
FIX_FLOAT = LaneOperator(
    component=FixToFloat,
    i_bits=WORD_BITS,
    o_bits=FP32.width,
    control=ShiftControl,
    flags=TO_FLOAT_FLAGS,
    steps=("result",),
)
FLOAT_FIX = LaneOperator(
    component=FloatToFix,
    i_bits=FP32.width,
    o_bits=WORD_BITS,
    control=ShiftControl,
    flags=TO_FIX_FLAGS,
    steps=("result",),
)
