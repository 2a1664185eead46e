"""Units of rtl/aie_ml_v2/mover: add/compare, moves, shuffles, exp2 and tanh."""

from bitpath.rtl.aie_ml_v2.mover.layouts import NonlinearConfig, ShuffleConfig, VectorAluConfig, VectorMoveConfig
from bitpath.rtl.aie_ml_v2.mover.nonlinear import Nonlinear
from bitpath.rtl.aie_ml_v2.mover.shuffle import Shuffle
from bitpath.rtl.aie_ml_v2.mover.vector_alu import VectorAlu
from bitpath.rtl.aie_ml_v2.mover.vector_move import VectorMove
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup

UNITS = (
    Unit(
        name="vector_alu",
        room="aie_ml_v2/mover",
        config_type=VectorAluConfig,
        build=VectorAlu,
        summary="AIE-ML v2: add, compare, minimum, maximum, select, logic on lanes of a vector",
        covered=Covered(VectorAluConfig(), 200),
        judges=(Judge(60, VectorAluConfig(), 150),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("steps", r"decode\."),
            WaveGroup("first group", r"group_0\."),
            WaveGroup("groups", r"(group_|mask|flags)"),
            WaveGroup("result", r"result"),
            OUTPUT,
        ),
    ),
    Unit(
        name="vector_move",
        room="aie_ml_v2/mover",
        config_type=VectorMoveConfig,
        build=VectorMove,
        summary="AIE-ML v2: vector shift, push, insert, extract, broadcast",
        covered=Covered(VectorMoveConfig(), 300),
        judges=(Judge(61, VectorMoveConfig(), 200),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("shifter", r"(filled|low|high|count|place|shifted)"),
            WaveGroup("result", r"result"),
            OUTPUT,
        ),
    ),
    Unit(
        name="shuffle",
        room="aie_ml_v2/mover",
        config_type=ShuffleConfig,
        build=Shuffle,
        summary="AIE-ML v2: 58 permutations of one vector or two, with MX exponents, shifts and signs",
        covered=Covered(ShuffleConfig(), 200),
        judges=(Judge(62, ShuffleConfig(), 100),),
        waves=(CLOCK, INPUTS, WaveGroup("result", r"result"), OUTPUT),
    ),
    Unit(
        name="nonlinear",
        room="aie_ml_v2/mover",
        config_type=NonlinearConfig,
        build=Nonlinear,
        summary="AIE-ML v2: exp2 and tanh of FP32 lanes",
        covered=Covered(NonlinearConfig(lanes=1), 300),
        judges=(Judge(63, NonlinearConfig(lanes=1), 200),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("first lane", r"(exp2|tanh)_0\."),
            WaveGroup("lanes", r"(exp2|tanh)_"),
            WaveGroup("result", r"result"),
            OUTPUT,
        ),
    ),
)
