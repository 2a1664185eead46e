"""Benches of TensorE's modes on both simulators."""

from dataclasses import replace
from functools import partial

import pytest

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX
from bitpath.golden.trainium3.declarations.tensor import TRAINIUM3_DOUBLE_ROW, SparseNumerics, TagMap
from bitpath.golden.trainium3.declarations.vector import TRAINIUM2_BF16_PRODUCTS, TRAINIUM3_MATMUL
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.trainium3.tensor.background_transpose import TransposeConfig
from bitpath.rtl.trainium3.tensor.config import CorePeConfig
from bitpath.rtl.trainium3.tensor.fp32_passes import PassesConfig
from bitpath.rtl.trainium3.tensor.sparse_select import SelectConfig
from bitpath.rtl.trainium3.tensor.tensor_issue import IssueConfig
from bitpath.rtl.trainium3.tensor.weight_load import LoadConfig
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.trainium3.measured import benches

pytestmark = pytest.mark.simulator
SEED = 20261126
bench = partial(run_bench, seed=SEED)

BENCHES = {
    # Corners in every mode and number, every command, random columns at every pace, cycles of a request, resets.
    "fp32_passes-verilator": (PassesConfig(rows=8), 200, None, 16, 4 * 200 + 4 * 160),
    "fp32_passes-icarus": (PassesConfig(rows=1), 40, "random|cycles|resets", 11, 4 * 40),
    # Every tag under every pattern, every pattern, random columns at every pace.
    "sparse_select-verilator": (SelectConfig(cols=2), 100, None, 12, 7 * 48 + 4 * 100 + 64),
    "sparse_select-icarus": (SelectConfig(cols=1), 25, None, 12, 7 * 48 + 4 * 25 + 64),
    # Tiles of every shape, random tiles at every pace, rates, full banks, refused rows, resets.
    "background_transpose-verilator": (TransposeConfig(size=4), 60, None, 12, 40 + 4 * 100),
    "background_transpose-icarus": (TransposeConfig(size=3), 15, None, 12, 18 + 4 * 20),
    # Chains of transposes, random programs, late instructions and stalls, long instructions, every field, resets.
    "tensor_issue-verilator": (IssueConfig(cycle_bits=9), 150, None, 10, 5 * 150),
    "tensor_issue-icarus": (IssueConfig(banks=3, cycle_bits=5), 30, None, 10, 5 * 30),
    # Tiles of every mode with and without stalls, every mode behind every other, resets: four outputs a cycle.
    "core_pe-verilator": (CorePeConfig(pipeline=PipelineConfig(stages=2)), 150, None, 16, 4 * 12 * 150),
    "core_pe-icarus": (CorePeConfig(sparse=False), 60, "scattered|resets", 7, 4 * 5 * 60),
    # Time of every load, loads beside moving words at every pace, refused beats, resets.
    "weight_load-verilator": (LoadConfig(cols=18), 60, None, 13, 5 * 18 + 4 * 120),
    "weight_load-icarus": (LoadConfig(), 15, None, 13, 5 * 6 + 4 * 24),
}
"""Configuration, cases, names of tests, and the least tests and comparisons."""


@pytest.mark.parametrize("name", benches(BENCHES))
def test_bench(name):
    unit, simulator = name.split("-")
    config, cases, tests, ran, compared = BENCHES[name]
    bench(unit, config, simulator, cases=cases, tests=tests, min_tests=ran, min_compared=compared)


VOLUMES = [
    ("fp32_passes", PassesConfig(rows=4), 20_000, 16, 80_000),
    ("sparse_select", SelectConfig(cols=4), 20_000, 12, 80_000),
    *(("core_pe", CorePeConfig(pipeline=PipelineConfig(stages=stages)), 3000, 16, 120_000) for stages in range(5)),
    ("weight_load", LoadConfig(rows=4, cols=32), 300, 12, 2400),
]


@pytest.mark.deep
@pytest.mark.parametrize(("unit", "config", "cases", "ran", "compared"), VOLUMES)
def test_volume(unit, config, cases, ran, compared):
    bench(unit, config, "verilator", cases=cases, min_tests=ran, min_compared=compared)


@pytest.mark.parametrize("rows", [0, 129])
def test_rows_of_the_passes(rows):
    with pytest.raises(ValueError, match=f"^fp32_passes: rows must be 1 to 128, not {rows}$"):
        PassesConfig(rows=rows)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"banks": 9}, "banks must be 1 to 8, not 9"),
        ({"cycle_bits": 0}, "cycle_bits must be 1 to 16, not 0"),
        ({"tag_bits": 33}, "tag_bits must be 1 to 32, not 33"),
    ],
)
def test_issue_logic_that_does_not_exist(config, says):
    with pytest.raises(ValueError, match=f"^tensor_issue: {says}$"):
        IssueConfig(**config)


@pytest.mark.parametrize("size", [1, 129])
def test_sizes_of_a_transpose(size):
    with pytest.raises(ValueError, match=f"^background_transpose: size must be 2 to 128, not {size}$"):
        TransposeConfig(size=size)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cols": 0}, "cols must be 1 to 128, not 0"),
        (
            {"numerics": SparseNumerics(patterns=((1, 2),), tag_map=TagMap.POSITION)},
            "tag_map must be FIELDS, not POSITION",
        ),
    ],
)
def test_selections_that_do_not_exist(change, says):
    with pytest.raises(ValueError, match=f"^sparse_select: {says}$"):
        SelectConfig(**change)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            partial(CorePeConfig, dot=TRAINIUM3_DOUBLE_ROW.numerics),
            "core_pe: terms must be 4, the elements of an x4 word, not 2",
        ),
        (
            partial(CorePeConfig, numerics=TRAINIUM2_BF16_PRODUCTS.numerics),
            "core_pe: product_rounding must be None, not RNE to BF16",
        ),
        (
            partial(CorePeConfig, dot=TRAINIUM3_QUAD_MX.numerics),
            r"core_pe: element_formats must be \['E4M3FN', 'E5M2', 'E4M3'\], not \['E4M3FN', 'E5M2'\]",
        ),
        (
            partial(CorePeConfig, numerics=replace(TRAINIUM3_MATMUL.numerics, wide_formats=(FP32,))),
            r"core_pe: wide_formats must be \['TF32', 'FP32'\], not \['FP32'\]",
        ),
        (partial(LoadConfig, rows=0), "weight_load: rows must be 1 to 128, not 0"),
        (partial(LoadConfig, cols=1), "weight_load: cols must be 2 to 128, not 1"),
        (partial(LoadConfig, moving_bits=1025), "weight_load: moving_bits must be 1 to 1024, not 1025"),
    ],
)
def test_processing_elements_and_loads_that_do_not_exist(make, says):
    with pytest.raises(ValueError, match=f"^{says}$"):
        make()
