"""Unit records of the FP32 functions."""

from functools import partial

from bitpath.rtl.common.fp32.fp32_functions import (
    Fp32Lanes,
    Fp32LanesConfig,
    Reciprocal,
    ReciprocalSquareRoot,
    SquareRoot,
)
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup

FUNCTION_GROUPS = (
    WaveGroup("first lane, its operand", r"lane_0\.(i__|decode|normalize|number)"),
    WaveGroup("first lane, recurrence", r"lane_0\.(left|busy|residue|remainder|step|total|digits|exponent|special)"),
    WaveGroup("first lane, result", r"lane_0\.(exact|result|o__)"),
)

UNITS = (
    Unit(
        name="reciprocal",
        room="common/fp32",
        config_type=Fp32LanesConfig,
        build=partial(Fp32Lanes, Reciprocal),
        summary="FP32: lanes of 1 / x, a bit a cycle",
        covered=Covered(Fp32LanesConfig(lanes=2), 100, {"BITPATH_VOLUME": "20000"}),
        judges=(Judge(6, Fp32LanesConfig()),),
        waves=(CLOCK, INPUTS, *FUNCTION_GROUPS, OUTPUT),
    ),
    Unit(
        name="reciprocal_square_root",
        room="common/fp32",
        config_type=Fp32LanesConfig,
        build=partial(Fp32Lanes, ReciprocalSquareRoot),
        summary="FP32: lanes of 1 / sqrt(x), a bit a cycle",
        covered=Covered(Fp32LanesConfig(lanes=2), 100, {"BITPATH_VOLUME": "20000"}),
        judges=(Judge(8, Fp32LanesConfig()),),
        waves=(CLOCK, INPUTS, *FUNCTION_GROUPS, OUTPUT),
    ),
    Unit(
        name="square_root",
        room="common/fp32",
        config_type=Fp32LanesConfig,
        build=partial(Fp32Lanes, SquareRoot),
        summary="FP32: lanes of sqrt(x), a bit a cycle",
        covered=Covered(Fp32LanesConfig(lanes=2), 100, {"BITPATH_VOLUME": "20000"}),
        judges=(Judge(7, Fp32LanesConfig()),),
        waves=(CLOCK, INPUTS, *FUNCTION_GROUPS, OUTPUT),
    ),
)
