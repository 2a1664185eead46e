"""Bench of the tile, and layers on it, against golden's `Tile`."""

import numpy as np
import pytest
from rich.console import Console

from bitpath.golden.aie_ml_v2.tile.layers import A, integer_layer
from bitpath.rtl.aie_ml_v2.core.config import AieTileConfig
from bitpath.rtl.aie_ml_v2.tile.data_memory import DataMemoryConfig
from bitpath.rtl.aie_ml_v2.vector.config import NativeMacConfig
from bitpath.rtl.aie_ml_v2.vector.native_shapes import NativeShape
from bitpath.sim.engine.runner import build, run_bench
from bitpath.sim.flows import aie_ml_v2_tile
from bitpath.sim.flows.outcome import play
from bitpath.verif.kit.testplan import covers

pytestmark = pytest.mark.simulator
SEED = 20261127


@covers("issue_check.values")
def test_the_check_of_bundles():
    run_bench("issue_check", AieTileConfig(), "icarus", seed=SEED, cases=20, min_tests=6, min_compared=6_000)


@covers("aie_tile.icarus", "Both simulators must agree")
@pytest.mark.deep
def test_a_small_tile_on_icarus():
    """A schedule of int8 on another simulator."""
    config = AieTileConfig(
        multiply=NativeMacConfig(mx9=False),
        accumulators=1,
        memory=DataMemoryConfig(modules=1, pairs=1, words=128, bank_bytes=32),
    )
    tests = "random_schedules.*gaps=0.3"
    run_bench("aie_tile", config, "icarus", seed=SEED, cases=30, tests=tests, min_tests=1, min_compared=300)


SPARSE = (NativeShape.INT8_8X16X8T, NativeShape.INT16_8X2X8, NativeShape.INT16_64_4X8X8T, NativeShape.INT32X16_4X2X8)


@covers("aie_tile.schedules")
@pytest.mark.deep
@pytest.mark.parametrize("config", [AieTileConfig(), AieTileConfig(multiply=NativeMacConfig(products=SPARSE), pairs=3)])
def test_tiles(config):
    run_bench("aie_tile", config, "verilator", seed=SEED, cases=400, min_tests=8, min_compared=4_000)


@covers("aie_tile.layers", "The real layer uses what random schedules seldom bring together")
@pytest.mark.deep
def test_a_layer_whose_operands_meet_at_the_banks():
    """Layers of int8, sparse int8, int16, sparse int16 and MX9, and a second layer on the result of each, on the
    machine's tile."""
    rng = np.random.default_rng(34)
    left, right = rng.integers(-128, 128, (32, 64)), rng.integers(-128, 128, (64, 32))
    layer = integer_layer(left, right, mode="int8", shift=9, b_at=A + 0x2000)
    config = aie_ml_v2_tile.MACHINE
    golden = aie_ml_v2_tile.golden_run(config, layer, conflicts="stall")
    left_behind = play(
        Console(quiet=True),
        build("aie_tile", config, "verilator"),
        aie_ml_v2_tile.Run.benches["aie_tile"],
        "int8",
        aie_ml_v2_tile.program_of(config, layer),
    )
    found = aie_ml_v2_tile.rtl_run(left_behind)
    assert golden[-1][1] > 100
    assert all(np.array_equal(*pair) for pair in zip(found, golden, strict=True))
