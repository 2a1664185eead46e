"""Units of the Vector unit's conversions."""

from bitpath.golden.tensix.declarations.numerics import BLACKHOLE
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.tensix.vector.sfp_stochastic_round import SfpStochasticRound
from bitpath.rtl.tensix.vector.stochastic_round import SfpStochasticRoundConfig

_BLACKHOLE = SfpStochasticRoundConfig(numerics=BLACKHOLE.numerics)

UNITS = (
    Unit(
        name="sfp_stochastic_round",
        room="tensix/vector",
        config_type=SfpStochasticRoundConfig,
        build=SfpStochasticRound,
        summary="Tensix: 32 lanes of FP32 to fewer fraction bits or integers, and their random numbers",
        covered=Covered(_BLACKHOLE, 300),
        judges=(Judge(38, _BLACKHOLE),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("seed", r"(seed|prng_seed)"),
            WaveGroup("random numbers", r"(states|prng_)"),
            WaveGroup("lanes", r"round_"),
            OUTPUT,
        ),
    ),
)

CONTROL = ("sfp_stochastic_round",)
"""Files without arithmetic: registers and their order. They have no mutants."""
