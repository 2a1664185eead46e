"""Unit records of Trainium3's dot products and processing elements."""

from bitpath.golden.trainium3.declarations.dot import DotNumerics
from bitpath.golden.trainium3.declarations.quad_mx import (
    TRAINIUM3_QUAD_MX,
    TRAINIUM3_QUAD_MX_ALIGNED,
    TRAINIUM3_QUAD_MX_E4M3,
)
from bitpath.golden.trainium3.declarations.vector import TRAINIUM2_BF16_PRODUCTS
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.common.unit import (
    CLOCK,
    INPUTS,
    OUTPUT,
    Covered,
    Judge,
    Synthesised,
    Unit,
    WaveGroup,
    YardstickConfig,
    registered,
)
from bitpath.rtl.trainium3.dot.config import DotConfig, MapConfig, MultiplyAddConfig
from bitpath.rtl.trainium3.dot.element_map import ElementMap
from bitpath.rtl.trainium3.dot.pe import Bf16Pe, QuadMxPe
from bitpath.rtl.trainium3.dot.quad_mx_dot import QuadMxDot

FLOOR = (
    "4 bare 4x4-bit multipliers and a 32-bit adder",
    YardstickConfig(count=4, a_bits=4, b_bits=4, adder_bits=32),
)
EXACT, ALIGNED, E4M3_ALONE = (
    preset.numerics for preset in (TRAINIUM3_QUAD_MX, TRAINIUM3_QUAD_MX_ALIGNED, TRAINIUM3_QUAD_MX_E4M3)
)


def _dot(numerics: DotNumerics, stages: int) -> DotConfig:
    return DotConfig(numerics=numerics, pipeline=PipelineConfig(stages=stages))


PE_INPUTS = WaveGroup("inputs", r"(moving_west|stationary_west|partial_north|load|swap_west|advance)\b")
PE_OUTPUTS = WaveGroup("outputs", r"(moving_east|stationary_east|partial_south|swap_east)\b")
DOT_GROUPS = (
    WaveGroup("decode", r"(dot\.)?decode_"),
    WaveGroup("products", r"(dot\.)?(multiply_|products)"),
    WaveGroup("align", r"(dot\.)?terms"),
    WaveGroup("sum", r"(dot\.)?(total|align_)"),
    WaveGroup("normalize", r"(dot\.)?(coarse|fine|add_)"),
    WaveGroup("round", r"(dot\.)?round"),
)

UNITS = (
    Unit(
        name="quad_mx_dot",
        room="trainium3/dot",
        config_type=DotConfig,
        build=QuadMxDot,
        summary="Trainium3: four FP8 products, two scales, one partial sum",
        covered=Covered(DotConfig(pipeline=registered(2)), 1000),
        judges=(
            Judge(14, DotConfig()),
            Judge(18, DotConfig(numerics=TRAINIUM3_QUAD_MX_ALIGNED.numerics, pipeline=registered(2))),
        ),
        synthesised=(
            Synthesised("quad_mx_dot, exact, combinational", _dot(EXACT, 0), 4, *FLOOR),
            Synthesised("quad_mx_dot, exact, four pipeline registers", _dot(EXACT, 4), 4, *FLOOR),
            Synthesised("quad_mx_dot, exact, E4M3 alone", _dot(E4M3_ALONE, 0), 4, *FLOOR),
            Synthesised("quad_mx_dot, aligned", _dot(ALIGNED, 0), 4, *FLOOR),
        ),
        waves=(CLOCK, INPUTS, *DOT_GROUPS, OUTPUT),
    ),
    Unit(
        name="quad_mx_pe",
        room="trainium3/dot",
        config_type=DotConfig,
        build=QuadMxPe,
        summary="Trainium3: the dot product with its stationary operands held twice",
        covered=Covered(DotConfig(pipeline=registered(2)), 1500),
        judges=(Judge(15, DotConfig()),),
        waves=(
            CLOCK,
            PE_INPUTS,
            WaveGroup("held operands", r"(stationary|second|moving|partial)\b"),
            *DOT_GROUPS,
            PE_OUTPUTS,
        ),
    ),
    Unit(
        name="element_map",
        room="trainium3/dot",
        config_type=MapConfig,
        build=ElementMap,
        summary="Trainium3: FP4 elements to FP8 through the programmable map",
        covered=Covered(MapConfig(), 200),
        judges=(Judge(1, MapConfig(), cases=2000),),
    ),
    Unit(
        name="bf16_pe",
        room="trainium3/dot",
        config_type=MultiplyAddConfig,
        build=Bf16Pe,
        summary="Trainium3: BF16 or FP16 multiply-add, its stationary element held twice",
        covered=Covered(MultiplyAddConfig(), 300),
        judges=(Judge(5, MultiplyAddConfig()), Judge(24, MultiplyAddConfig(numerics=TRAINIUM2_BF16_PRODUCTS.numerics))),
        waves=(
            CLOCK,
            PE_INPUTS,
            WaveGroup("held operands", r"(stationary|second|moving|partial)\b"),
            WaveGroup("decode", r"multiply_add\.decode_"),
            WaveGroup("product", r"multiply_add\.(multiply|product)"),
            WaveGroup("sum", r"multiply_add\.(add|special|total)"),
            WaveGroup("normalize", r"multiply_add\.normal"),
            WaveGroup("round", r"multiply_add\.round"),
            PE_OUTPUTS,
        ),
    ),
)
