"""Units of rtl/aie_ml_v2/scalar: functions of the scalar unit."""

from bitpath.rtl.aie_ml_v2.scalar.scalar_functions import ScalarFunctions, ScalarFunctionsConfig
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup

UNITS = (
    Unit(
        name="scalar_functions",
        room="aie_ml_v2/scalar",
        config_type=ScalarFunctionsConfig,
        build=ScalarFunctions,
        summary="AIE-ML v2: 1 / x, sqrt(x) and 1 / sqrt(x) of floats and integers, one a cycle",
        covered=Covered(ScalarFunctionsConfig(), 60, {"BITPATH_VOLUME": "300"}),
        judges=(Judge(64, ScalarFunctionsConfig(), 4000),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("operand", r"(fix_to_float|decode|number|normalize|operand|one|scale|special)"),
            WaveGroup("digits", r"digit"),
            WaveGroup("rounding", r"(round|float_to_fix|result)"),
            OUTPUT,
        ),
    ),
)
