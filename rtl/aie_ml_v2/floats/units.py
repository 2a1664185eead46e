"""Units of rtl/aie_ml_v2/floats: conversions of and to floats, lane by lane."""

from functools import partial

from bitpath.rtl.aie_ml_v2.floats.float_lanes import FloatLanes
from bitpath.rtl.aie_ml_v2.floats.layouts import FloatLanesConfig
from bitpath.rtl.aie_ml_v2.floats.operators import FIX_FLOAT, FLOAT_FIX, FLOAT_FLOOR, FLOAT_NARROW, FLOAT_WIDEN
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup

LANE_GROUPS = (
    WaveGroup("first lane", r"lane_0\."),
    WaveGroup("other lanes", r"lane_"),
    WaveGroup("request and result", r"(request|result)"),
)

UNITS = (
    Unit(
        name="float_narrow",
        room="aie_ml_v2/floats",
        config_type=FloatLanesConfig,
        build=partial(FloatLanes, FLOAT_NARROW),
        summary="AIE-ML v2: FP32 to BF16, FP16 and 8-bit floats in ten roundings, with flags",
        covered=Covered(FloatLanesConfig(), 400),
        judges=(Judge(70, FloatLanesConfig(lanes=1)),),
        waves=(CLOCK, INPUTS, *LANE_GROUPS, OUTPUT),
    ),
    Unit(
        name="float_widen",
        room="aie_ml_v2/floats",
        config_type=FloatLanesConfig,
        build=partial(FloatLanes, FLOAT_WIDEN),
        summary="AIE-ML v2: BF16 and FP16 to FP32",
        covered=Covered(FloatLanesConfig(), 400),
        judges=(Judge(71, FloatLanesConfig(lanes=1)),),
        waves=(CLOCK, INPUTS, *LANE_GROUPS, OUTPUT),
    ),
    Unit(
        name="float_floor",
        room="aie_ml_v2/floats",
        config_type=FloatLanesConfig,
        build=partial(FloatLanes, FLOAT_FLOOR),
        summary="AIE-ML v2: BF16 times a power of two to INT32, rounded down, with flags",
        covered=Covered(FloatLanesConfig(), 400),
        judges=(Judge(72, FloatLanesConfig(lanes=1)),),
        waves=(CLOCK, INPUTS, *LANE_GROUPS, OUTPUT),
    ),
    Unit(
        name="fix_float",
        room="aie_ml_v2/floats",
        config_type=FloatLanesConfig,
        build=partial(FloatLanes, FIX_FLOAT),
        summary="AIE-ML v2: integers with a binary point to FP32",
        covered=Covered(FloatLanesConfig(), 400),
        judges=(Judge(60, FloatLanesConfig(lanes=1)),),
        waves=(CLOCK, INPUTS, *LANE_GROUPS, OUTPUT),
    ),
    Unit(
        name="float_fix",
        room="aie_ml_v2/floats",
        config_type=FloatLanesConfig,
        build=partial(FloatLanes, FLOAT_FIX),
        summary="AIE-ML v2: FP32 to integers with a binary point",
        covered=Covered(FloatLanesConfig(), 400),
        judges=(Judge(61, FloatLanesConfig(lanes=1)),),
        waves=(CLOCK, INPUTS, *LANE_GROUPS, OUTPUT),
    ),
)
CONTROL = ("operators",)
"""Files without arithmetic."""
