"""The lane operators of AIE-ML v2's conversions, with their latencies.

Ref: llvm-aie, itineraries: FP32 to narrower floats gives its result in cycle 3 of the instruction, BF16 to integers and
16-bit floats to FP32 in cycle 2, as those between FP32 and integers with a binary point.
"""

from functools import partial

from bitpath.golden.aie_ml_v2.declarations.codes import FLOOR_FLAGS, NARROW_FLAGS
from bitpath.golden.aie_ml_v2.declarations.mover import WORD_BITS
from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.rtl.aie_ml_v2.floats.fix_float import FixToFloat, FloatToFix
from bitpath.rtl.aie_ml_v2.floats.float_lanes import (
    INTEGER_BITS,
    FloatLanes,
    FloorLane,
    LaneOperator,
    NarrowLane,
    WidenLane,
)
from bitpath.rtl.aie_ml_v2.floats.layouts import (
    TO_FIX_FLAGS,
    TO_FLOAT_FLAGS,
    FloatLanesConfig,
    NarrowControl,
    ShiftControl,
    WidenControl,
    flags_layout,
)
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup

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


LANE_GROUPS = (
    WaveGroup("first lane", r"lane_0\."),
    WaveGroup("other lanes", r"lane_"),
    WaveGroup("request and result", r"(request|result)"),
)


RECORDS = (
    Unit(
        name="float_narrow",
        config_type=FloatLanesConfig,
        build=partial(FloatLanes, FLOAT_NARROW),
        summary="AIE-ML v2: FP32 to BF16, FP16 and 8-bit floats in ten roundings, with flags",
        covered=Covered(FloatLanesConfig(), 400),
        judges=(Judge(70, FloatLanesConfig(lanes=1)),),
        waves=(CLOCK, INPUTS, *LANE_GROUPS, OUTPUT),
    ),
    Unit(
        name="float_widen",
        config_type=FloatLanesConfig,
        build=partial(FloatLanes, FLOAT_WIDEN),
        summary="AIE-ML v2: BF16 and FP16 to FP32",
        covered=Covered(FloatLanesConfig(), 400),
        judges=(Judge(71, FloatLanesConfig(lanes=1)),),
        waves=(CLOCK, INPUTS, *LANE_GROUPS, OUTPUT),
    ),
    Unit(
        name="float_floor",
        config_type=FloatLanesConfig,
        build=partial(FloatLanes, FLOAT_FLOOR),
        summary="AIE-ML v2: BF16 times a power of two to INT32, rounded down, with flags",
        covered=Covered(FloatLanesConfig(), 400),
        judges=(Judge(72, FloatLanesConfig(lanes=1)),),
        waves=(CLOCK, INPUTS, *LANE_GROUPS, OUTPUT),
    ),
    Unit(
        name="fix_float",
        config_type=FloatLanesConfig,
        build=partial(FloatLanes, FIX_FLOAT),
        summary="AIE-ML v2: integers with a binary point to FP32",
        covered=Covered(FloatLanesConfig(), 400),
        judges=(Judge(60, FloatLanesConfig(lanes=1)),),
        waves=(CLOCK, INPUTS, *LANE_GROUPS, OUTPUT),
    ),
    Unit(
        name="float_fix",
        config_type=FloatLanesConfig,
        build=partial(FloatLanes, FLOAT_FIX),
        summary="AIE-ML v2: FP32 to integers with a binary point",
        covered=Covered(FloatLanesConfig(), 400),
        judges=(Judge(61, FloatLanesConfig(lanes=1)),),
        waves=(CLOCK, INPUTS, *LANE_GROUPS, OUTPUT),
    ),
)
