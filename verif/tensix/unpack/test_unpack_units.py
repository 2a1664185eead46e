"""Benches of the turn buffer and of the addresses in tilise mode."""

import pytest

from bitpath.golden.tensix.declarations.formats import FACE
from bitpath.golden.tensix.declarations.numerics import BLACKHOLE, WORMHOLE
from bitpath.rtl.tensix.unpack.layouts import ConversionConfig, TurnBufferConfig
from bitpath.sim.engine.runner import run_bench

pytestmark = pytest.mark.simulator
SEED = 20261128
TURN_TESTS, ADDRESS_TESTS = 7, 6


@pytest.mark.parametrize(
    ("rows", "simulator"),
    [(4, "verilator"), (1, "icarus"), *(pytest.param(rows, "verilator", marks=pytest.mark.deep) for rows in (1, 2, 8))],
)
def test_turn_buffer(rows, simulator):
    compared = (4 * 46 + 20 + 3 + 4) * FACE // rows
    config = TurnBufferConfig(rows=rows)
    bench = {"cases": 100 if simulator == "verilator" else 46, "seed": SEED}
    run_bench("turn_buffer", config, simulator, **bench, min_tests=TURN_TESTS, min_compared=compared)


@pytest.mark.parametrize("preset", [pytest.param(WORMHOLE, marks=pytest.mark.deep), BLACKHOLE], ids=["wh", "bh"])
def test_tilise_address(preset):
    config = ConversionConfig(numerics=preset.numerics)
    run_bench("tilise_address", config, "verilator", cases=200, seed=SEED, min_tests=ADDRESS_TESTS, min_compared=10_000)


@pytest.mark.deep
@pytest.mark.parametrize("preset", [WORMHOLE, BLACKHOLE], ids=["wh", "bh"])
def test_tilise_address_on_icarus(preset):
    config = ConversionConfig(numerics=preset.numerics)
    run_bench("tilise_address", config, "icarus", cases=2000, seed=SEED, min_tests=ADDRESS_TESTS, min_compared=50_000)
