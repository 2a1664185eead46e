"""Units of rtl/aie_ml_v2/lanes: conversions that work lane by lane."""

from bitpath.rtl.aie_ml_v2.lanes.config import FixLanesConfig, MxWidenConfig, PackConfig
from bitpath.rtl.aie_ml_v2.lanes.fix_lanes import fix_float, float_fix
from bitpath.rtl.aie_ml_v2.lanes.mx_widen import MxWiden
from bitpath.rtl.aie_ml_v2.lanes.pack_unpack import PackUnpack
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup

FIX_GROUPS = (CLOCK, INPUTS, WaveGroup("first lane", r"lane_0\."), WaveGroup("result", r"result"), OUTPUT)

UNITS = (
    Unit(
        name="fix_float",
        room="aie_ml_v2/lanes",
        config_type=FixLanesConfig,
        build=fix_float,
        summary="AIE-ML v2: integers with a binary point to FP32",
        covered=Covered(FixLanesConfig(lanes=2), 200),
        judges=(Judge(60, FixLanesConfig(lanes=2), 100),),
        waves=FIX_GROUPS,
    ),
    Unit(
        name="float_fix",
        room="aie_ml_v2/lanes",
        config_type=FixLanesConfig,
        build=float_fix,
        summary="AIE-ML v2: FP32 to integers with a binary point",
        covered=Covered(FixLanesConfig(lanes=8), 100),
        judges=(Judge(61, FixLanesConfig(lanes=2), 100),),
        waves=FIX_GROUPS,
    ),
    Unit(
        name="pack_unpack",
        room="aie_ml_v2/lanes",
        config_type=PackConfig,
        build=PackUnpack,
        summary="AIE-ML v2: elements of 4, 8 and 16 bits packed and unpacked",
        covered=Covered(PackConfig(), 60),
        judges=(Judge(62, PackConfig(lanes=2), 100),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("first lane", r"(element_0_|packed_0)"),
            WaveGroup("result", r"(packed|result)"),
            OUTPUT,
        ),
    ),
    Unit(
        name="mx_widen",
        room="aie_ml_v2/lanes",
        config_type=MxWidenConfig,
        build=MxWiden,
        summary="AIE-ML v2: MX9, MX6 and MX4 blocks to FP32",
        covered=Covered(MxWidenConfig(), 30),
        judges=(Judge(63, MxWidenConfig(), 100),),
        waves=(CLOCK, INPUTS, WaveGroup("first element", r"element_0\."), WaveGroup("result", r"result"), OUTPUT),
    ),
)
