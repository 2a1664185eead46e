"""The declarations of Trainium3's vector side: presets by name, and a source for everything."""

from dataclasses import replace

import pytest

from bitpath.golden.aie_ml_v2.declarations import numerics as aie_ml_v2_numerics
from bitpath.golden.formats.catalogue import E4M3FN, FP16, FP32, Rounding
from bitpath.golden.formats.sources import Preset
from bitpath.golden.tensix.declarations import numerics as tensix_numerics
from bitpath.golden.trainium3.core.rmsnorm import EpsPlacementName, QuantTypeName
from bitpath.golden.trainium3.declarations import memory
from bitpath.golden.trainium3.declarations import quad_mx as trainium3
from bitpath.golden.trainium3.declarations import tensor as trainium3_tensor
from bitpath.golden.trainium3.declarations import vector as trainium3_vector
from bitpath.golden.trainium3.declarations.rates import TRAINIUM2, TRAINIUM3
from bitpath.golden.trainium3.declarations.vector import (
    CHOICES,
    PRESETS,
    TRAINIUM2_BF16_PRODUCTS,
    TRAINIUM3_MATMUL,
    EpsPlacement,
    QuantType,
    SumOrder,
)
from bitpath.golden.trainium3.vector.engine import SumOrderName


def test_presets_go_by_their_names():
    assert list(PRESETS) == [preset.name for preset in PRESETS.values()]
    machines = (trainium3, trainium3_tensor, trainium3_vector, memory, tensix_numerics, aie_ml_v2_numerics)
    names = [name for machine in machines for name in machine.PRESETS]
    assert len(names) == len(set(names))


def test_everything_has_a_source():
    presets = (*PRESETS.values(), *memory.PRESETS.values(), TRAINIUM2, TRAINIUM3)
    choices = (*CHOICES, *memory.CHOICES, *trainium3_vector.GPSIMD_CHOICES)
    sources = [source for preset in presets for source in preset.sources.values()]
    sources += [choice.source for choice in choices]
    assert len({choice.statement for choice in choices}) == len(choices)
    assert len(sources) > 20
    assert all(source.where and source.kind in ("documented", "measured", "inferred", "chosen") for source in sources)
    with pytest.raises(ValueError, match="fields and sources differ"):
        Preset(name="incomplete", numerics=TRAINIUM3_MATMUL.numerics, sources={})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"accumulator": FP16}, "accumulator must have FP32's exponents, .* not be FP16"),
        ({"align_rounding": Rounding.RNA}, "align_rounding must be RNE or RTZ, not RNA"),
        ({"accumulator_rounding": Rounding.SR}, "accumulator_rounding must be RNE or RTZ, not SR"),
        ({"align_fraction_bits": -1}, "align_fraction_bits must be None, 0 or more, not -1"),
    ],
)
def test_numerics_of_a_dot_product_refuse(change, says):
    numerics = trainium3.TRAINIUM3_QUAD_MX_ALIGNED.numerics
    assert replace(numerics, align_fraction_bits=0).align_fraction_bits == 0
    with pytest.raises(ValueError, match=f"^{says}$"):
        replace(numerics, **change)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"accumulator": FP16}, "accumulator must have FP32's exponents, .* not be FP16"),
        ({"accumulator_rounding": Rounding.SR}, "accumulator_rounding must be RNE or RTZ, not SR"),
        ({"tf32_rounding": Rounding.RNA}, "tf32_rounding must be RNE or RTZ, not RNA"),
        ({"wide_formats": (FP16, FP32)}, "wide_formats must have no format of narrow_formats, not FP16"),
    ],
)
def test_numerics_of_a_matmul_refuse(change, says):
    with pytest.raises(ValueError, match=f"^{says}$"):
        replace(TRAINIUM3_MATMUL.numerics, **change)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": E4M3FN}, "format of a product must have an infinity, not be E4M3FN"),
        ({"rounding": Rounding.RNA}, "rounding of a product must be RNE or RTZ, not RNA"),
    ],
)
def test_rounding_of_a_product_refuses(change, says):
    rounding = TRAINIUM2_BF16_PRODUCTS.numerics.product_rounding
    assert str(rounding) == "RNE to BF16"
    with pytest.raises(ValueError, match=f"^{says}$"):
        replace(rounding, **change)


def test_a_hypothesis_about_trainium2_names_its_rival():
    preset = TRAINIUM2_BF16_PRODUCTS
    assert preset.sources["product_rounding"].kind == "inferred"
    assert "BF16 results" in preset.sources["product_rounding"].where
    assert TRAINIUM3_MATMUL.numerics.product_rounding is None
    assert TRAINIUM3_MATMUL.sources["product_rounding"].kind == "chosen"


@pytest.mark.parametrize(
    ("names", "enum"), [(SumOrderName, SumOrder), (EpsPlacementName, EpsPlacement), (QuantTypeName, QuantType)]
)
def test_arguments_name_the_members(names, enum):
    assert names.__args__ == tuple(member.value for member in enum)


def test_narrow_and_wide_formats_are_apart():
    numerics = TRAINIUM3_MATMUL.numerics
    assert not set(numerics.narrow_formats) & set(numerics.wide_formats)
