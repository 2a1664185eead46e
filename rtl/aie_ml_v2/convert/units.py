"""Units of rtl/aie_ml_v2/convert: FP32 to MX, and the fixed-point conversions SRS and UPS."""

from bitpath.rtl.aie_ml_v2.convert.config import IntegerLanesConfig, MxConvertConfig
from bitpath.rtl.aie_ml_v2.convert.mx_convert import MxConvert
from bitpath.rtl.aie_ml_v2.convert.srs import Srs
from bitpath.rtl.aie_ml_v2.convert.ups import Ups
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup

AIE_LANE_GROUPS = (
    WaveGroup("first lane, 64 bits", r"lane_0\."),
    WaveGroup("second lane, 32 bits", r"lane_1\."),
    WaveGroup("result", r"(result|request)"),
    WaveGroup("sticky flag", r"((clear_)?overflow|flag\.)"),
)

UNITS = (
    Unit(
        name="mx_convert",
        room="aie_ml_v2/convert",
        config_type=MxConvertConfig,
        build=MxConvert,
        summary="AIE-ML v2: 16 FP32 accumulators to an MX9, MX6 or MX4 block; XDNA2: 8 to bfp16ebs8",
        covered=Covered(MxConvertConfig(), 500),
        judges=(Judge(11, MxConvertConfig()),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("exponents and shifts", r"(pairs|shared|leaves|bumped)"),
            WaveGroup("first element", r"element_0\."),
            WaveGroup("elements", r"(element|trial)_"),
            WaveGroup("block", r"(result|codes|block|image)"),
            OUTPUT,
        ),
    ),
    Unit(
        name="srs",
        room="aie_ml_v2/convert",
        config_type=IntegerLanesConfig,
        build=Srs,
        summary="AIE-ML v2: accumulators shifted, rounded and saturated to a vector",
        covered=Covered(IntegerLanesConfig(), 1024, {"BITPATH_SHIFTS": "4 9"}),
        judges=(Judge(10, IntegerLanesConfig()),),
        waves=(CLOCK, INPUTS, *AIE_LANE_GROUPS, OUTPUT),
    ),
    Unit(
        name="ups",
        room="aie_ml_v2/convert",
        config_type=IntegerLanesConfig,
        build=Ups,
        summary="AIE-ML v2: vector shifted left and saturated to accumulators",
        covered=Covered(IntegerLanesConfig(), 2048, {"BITPATH_SHIFTS": "4 9"}),
        judges=(Judge(3, IntegerLanesConfig()),),
        waves=(CLOCK, INPUTS, *AIE_LANE_GROUPS, OUTPUT),
    ),
)
