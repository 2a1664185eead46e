"""Unit records of ScalarE's and VectorE's lanes."""

from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup, registered
from bitpath.rtl.trainium3.lanes.activation2_lane import Activation2Lane
from bitpath.rtl.trainium3.lanes.config import Activation2Config, CopyConfig, EngineLaneConfig, Rand2Config
from bitpath.rtl.trainium3.lanes.copy_lanes import CopyLanes
from bitpath.rtl.trainium3.lanes.engine_lane import EngineLane
from bitpath.rtl.trainium3.lanes.rand2_lane import Rand2Lane

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
    Unit(
        name="rand2_lane",
        room="trainium3/lanes",
        config_type=Rand2Config,
        build=Rand2Lane,
        summary="Trainium3: random words of a VectorE lane to uniform numbers of any dtype",
        covered=Covered(Rand2Config(pipeline=registered(4)), 300),
        judges=(Judge(50, Rand2Config(), 200),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("first word", r"(exact|uniform|multiply|add|from_fp32)_0"),
            WaveGroup("width", r"(subtract|width)"),
            WaveGroup("products and sums", r"(word|uniform|multiply|product|add|sum)"),
            WaveGroup("elements", r"(from_fp32|packed|elements)"),
            OUTPUT,
        ),
    ),
    Unit(
        name="copy_lanes",
        room="trainium3/lanes",
        config_type=CopyConfig,
        build=CopyLanes,
        summary="Trainium3: tensor_copy of VectorE and ScalarE, 4, 2 or 1 elements a cycle",
        covered=Covered(CopyConfig(interval=8), 100),
        judges=(Judge(51, CopyConfig(interval=4), 60),),
        waves=(
            CLOCK,
            WaveGroup("commands", r"command__"),
            INPUTS,
            WaveGroup("row", r"(busy|rest|pair|width|pace|copy_width)"),
            WaveGroup("group", r"(place|fill|count|size|element)"),
            WaveGroup("first element", r"(to_fp32_0|from_fp32_0)\."),
            WaveGroup("elements", r"(to_fp32|fp32_|from_fp32|group)"),
            WaveGroup("words", r"(before|word|whole)"),
            OUTPUT,
        ),
    ),
    Unit(
        name="engine_lane",
        room="trainium3/lanes",
        config_type=EngineLaneConfig,
        build=EngineLane,
        summary="Trainium3: tensor_scalar and tensor_tensor of VectorE and ScalarE over 13 dtypes",
        covered=Covered(EngineLaneConfig(width=1), 300),
        judges=(Judge(39, EngineLaneConfig(width=1), 200),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("read", r"(to_fp32|bits|read)_"),
            WaveGroup("first step", r"first"),
            WaveGroup("second step", r"second"),
            WaveGroup("write", r"(from_fp32|write)"),
            OUTPUT,
        ),
    ),
)
