"""Units of rtl/aie_ml_v2/lanes: conversions that work lane by lane."""

from bitpath.rtl.aie_ml_v2.lanes.layouts import MxWidenConfig, PackConfig
from bitpath.rtl.aie_ml_v2.lanes.mx_widen import MxWiden
from bitpath.rtl.aie_ml_v2.lanes.pack_unpack import PackUnpack
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup

UNITS = (
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
