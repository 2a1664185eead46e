"""Unit records of ScalarE's and VectorE's lanes."""

from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup, registered
from bitpath.rtl.trainium3.lanes.activation2_lane import Activation2Lane
from bitpath.rtl.trainium3.lanes.config import Activation2Config

UNITS = (
    Unit(
        name="activation2_lane",
        room="trainium3/lanes",
        config_type=Activation2Config,
        build=Activation2Lane,
        summary="Trainium3: a lane of Activation2 with its reduction register",
        covered=Covered(Activation2Config(pipeline=registered(3)), 500),
        judges=(Judge(30, Activation2Config(), 300),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("product and sum", r"(product|sum)"),
            WaveGroup("function", r"(function|after_function)"),
            WaveGroup("reduction", r"(register|start|identity|order|of_both|reduce)"),
            OUTPUT,
        ),
    ),
)
CONTROL = ("activation2_control",)
"""Files without arithmetic."""
