"""Units of the Tensix dot product: the multiplier and the 16-term dot product."""

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
from bitpath.rtl.tensix.dot.dot16 import Dot16, FidelityMultiplier
from bitpath.rtl.tensix.dot.layouts import Dot16Config, MultiplierConfig

FLOOR = ("16 bare 7x5-bit multipliers", YardstickConfig(count=16, a_bits=7, b_bits=5))
TENSIX_DOT_GROUPS = (
    WaveGroup("fields and products", r"(dot\.)?multiply\.(multiply_|products)"),
    WaveGroup("group exponents and shifts", r"(dot\.)?(multiply\.|multiply_exponents)"),
    WaveGroup("group sums", r"(dot\.)?(group_sum_|multiply_|sums)"),
    WaveGroup("align to Dst", r"(dot\.)?(dst_align|sum_)"),
    WaveGroup("add Dst", r"(dot\.)?(dst_add|add_)"),
    WaveGroup("normalize", r"(dot\.)?(dst_normalize|normalize_)"),
    WaveGroup("round", r"(dot\.)?dst_round"),
)

UNITS = (
    Unit(
        name="dot16",
        room="tensix/dot",
        config_type=Dot16Config,
        build=Dot16,
        summary="Tensix: 16 products, added to a Dst word; the sum of two operands",
        covered=Covered(Dot16Config(pipeline=registered(3)), 500),
        judges=(Judge(20, Dot16Config()),),
        synthesised=(Synthesised("dot16, four styles, both Dst widths", Dot16Config(), 16, *FLOOR),),
        waves=(CLOCK, INPUTS, *TENSIX_DOT_GROUPS, OUTPUT),
    ),
    Unit(
        name="fidelity_multiplier",
        room="tensix/dot",
        config_type=MultiplierConfig,
        build=FidelityMultiplier,
        summary="Tensix: 7x5-bit multiplier and its fields",
        covered=Covered(MultiplierConfig(), 0),
        judges=(Judge(2, MultiplierConfig()),),
    ),
)
