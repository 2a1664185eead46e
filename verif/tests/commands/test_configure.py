"""Configuration of a unit from the command line: sizes, presets, files, and errors."""

import json

import pytest

from bitpath.golden.arrays.arguments import one_of
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_EXPONENTIAL, TRAINIUM3_MATMUL
from bitpath.rtl.common.config import to_dict
from bitpath.rtl.units import find_unit
from bitpath.sim.engine.configure import PRESETS, chosen
from bitpath.verif.kit.testplan import covers


@pytest.mark.parametrize(
    ("unit", "settings"),
    [
        ("rmsnorm_quant", {"lanes": 3, "max_row_length": 384}),
        ("tensor_engine", {"rows": 8, "cols": 4}),
        ("quantize_mx", {"stages": 4}),
        ("aie_engine", {"lanes": 8}),
    ],
)
def test_sizes_are_set_wherever_they_stand(unit, settings):
    before, after = (json.dumps(to_dict(chosen(unit, **given))) for given in ({}, settings))
    assert before != after
    assert all(f'"{name}": {value}' in after for name, value in settings.items())


@pytest.mark.parametrize(
    ("unit", "preset"), [("bf16_pe", TRAINIUM3_MATMUL), ("exponential", TRAINIUM3_EXPONENTIAL)], ids=["matmul", "exp"]
)
def test_a_preset_of_the_vector_side(unit, preset):
    assert chosen(unit, preset=preset.name).numerics == preset.numerics


def test_a_file_gives_the_same_as_the_settings(tmp_path):
    config = chosen("rmsnorm_quant", lanes=5, max_row_length=100)
    file = tmp_path / "config.json"
    file.write_text(json.dumps(to_dict(config)))
    assert chosen("rmsnorm_quant", config=file, lanes=None) == config
    assert config != find_unit("rmsnorm_quant").config_type()


@covers("robustness.configurations")
@pytest.mark.parametrize(
    ("unit", "settings", "says"),
    [
        ("exponential", {"preset": "x"}, f"preset must be {one_of(map(repr, PRESETS))}, not 'x'"),
        ("exponential", {"preset": "trainium3_matmul"}, "preset 'trainium3_matmul' is not one for unit 'exponential'"),
        ("rmsnorm_quant", {"preset": "trainium3_matmul"}, "unit 'rmsnorm_quant' has no preset"),
        ("xorwow", {"rows": 2}, "unit 'xorwow' has no rows"),
        ("rmsnorm_quant", {"max_row_length": 16385}, "max_row_length must be 1 to 16384, not 16385"),
        ("xorwow", {"config": "file.json", "lanes": 2}, "--config holds the whole configuration"),
    ],
)
def test_a_mistake_is_a_sentence(unit, settings, says):
    with pytest.raises(ValueError, match=says):
        chosen(unit, **settings)
