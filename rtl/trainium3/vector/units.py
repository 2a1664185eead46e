"""Unit records of Trainium3's vector units."""

from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup, registered
from bitpath.rtl.trainium3.vector.config import ExponentialConfig, QuantizeMxConfig, XorwowConfig
from bitpath.rtl.trainium3.vector.exponential import Exponential
from bitpath.rtl.trainium3.vector.quantize_mx import QuantizeMx
from bitpath.rtl.trainium3.vector.xorwow import Xorwow

UNITS = (
    Unit(
        name="quantize_mx",
        room="trainium3/vector",
        config_type=QuantizeMxConfig,
        build=QuantizeMx,
        summary="Trainium3: 8 partitions x 4 elements to an MXFP8 block a cycle",
        covered=Covered(QuantizeMxConfig(pipeline=registered(2)), 500),
        judges=(Judge(16, QuantizeMxConfig()),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("first element", r"(source_0|code_0)\."),
            WaveGroup("largest exponent and scale", r"(maximum|offset|(largest|scale)(?!_number))"),
            WaveGroup("numbers", r"(source|numbers|largest|scale)_"),
            WaveGroup("codes", r"code"),
            OUTPUT,
        ),
    ),
    Unit(
        name="xorwow",
        room="trainium3/vector",
        config_type=XorwowConfig,
        build=Xorwow,
        summary="Trainium3: four XORWOW states a lane, loaded and stored",
        covered=Covered(XorwowConfig(lanes=2), 300),
        judges=(Judge(4, XorwowConfig()),),
        waves=(
            CLOCK,
            WaveGroup("loads", r"load__"),
            WaveGroup("numbers", r"random__"),
            WaveGroup("states shown", r"(lane|states)$"),
            WaveGroup("first lane", r"lane_0\."),
            WaveGroup("lanes", r"lane_"),
        ),
    ),
    Unit(
        name="exponential",
        room="trainium3/vector",
        config_type=ExponentialConfig,
        build=Exponential,
        summary="Trainium3: exp(src - max) with its running sum, a lane",
        covered=Covered(
            ExponentialConfig(width=4, pipeline=registered(3)),
            500,
            tests="corners|every_bf16_code/bf16=False|many|half|random|rows|latency|resets",
        ),
        judges=(Judge(13, ExponentialConfig()),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("first element", r"(difference|argument|power|result|narrow)_0\."),
            WaveGroup("differences", r"difference"),
            WaveGroup("arguments", r"argument"),
            WaveGroup("powers", r"(power|result)"),
            WaveGroup("sum", r"(accumulator|start|total|add_|sum)"),
            OUTPUT,
        ),
    ),
)
