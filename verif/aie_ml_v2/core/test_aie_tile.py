# amaranth: UnusedElaboratable=no
"""Bench of the tile, and layers on it, against golden's `Tile`."""

import numpy as np
import pytest
from amaranth.sim import Simulator
from rich.console import Console

from bitpath.golden.aie_ml_v2.tile.layers import A, integer_layer
from bitpath.golden.aie_ml_v2.tile.transfers import POP_FORMATS, SPARSE_ENTITIES, Pop
from bitpath.rtl.aie_ml_v2.core.bundle import PopFormat
from bitpath.rtl.aie_ml_v2.core.config import AieTileConfig
from bitpath.rtl.aie_ml_v2.core.load_units import ELEMENT, Popped
from bitpath.rtl.aie_ml_v2.tile.data_memory import DataMemoryConfig
from bitpath.rtl.aie_ml_v2.vector.config import NativeMacConfig
from bitpath.rtl.aie_ml_v2.vector.native_shapes import NativeShape
from bitpath.sim.engine.runner import build, run_bench
from bitpath.sim.flows import aie_ml_v2_tile
from bitpath.sim.flows.outcome import play
from bitpath.verif.aie_ml_v2.core.programs import chunks
from bitpath.verif.kit.testplan import covers

# Parts of the tile that Amaranth's simulator runs in seconds, against golden.


def elements(fmt, count):
    """Return bytes of a format's elements, from random sources."""
    source = np.random.default_rng(34)
    if fmt in SPARSE_ENTITIES:
        pairs = chunks(source, 64 * count, SPARSE_ENTITIES[fmt])
        return list(pairs.reshape(count, 64))
    size = POP_FORMATS[fmt].store_bits // 8 if fmt in POP_FORMATS else 64
    return list(source.integers(0, 256, (count, size), np.uint8))


@covers("aie_tile.pops", "Golden's Pop gives the same")
def test_a_pop_makes_golden_s_register():
    """Registers that pops make of bytes, blocks of MX9 and compressed chunks."""
    unit = Popped()
    simulator = Simulator(unit)

    async def compare(ctx):
        for fmt in ("bytes", "mx9", "sparse8", "sparse16"):
            pop = Pop(to="x0" if fmt == "bytes" else "ex0", fifo=0, fmt=fmt)
            for data in elements(fmt, 20):
                ctx.set(unit.format, PopFormat[fmt.upper()])
                ctx.set(unit.i, int.from_bytes(data.tobytes(), "little"))
                expected = pop._register(data)
                held = np.zeros(ELEMENT.size // 8, np.uint8)
                held[: len(expected)] = expected
                assert ctx.get(unit.o.as_value()) == int.from_bytes(held.tobytes(), "little"), fmt

    simulator.add_testbench(compare)
    simulator.run()


SEED = 20261127


@pytest.mark.simulator
@covers("issue_check.values")
def test_the_check_of_bundles():
    run_bench("issue_check", AieTileConfig(), "icarus", seed=SEED, cases=20, min_tests=6, min_compared=6_000)


@pytest.mark.simulator
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


@pytest.mark.simulator
@covers("aie_tile.schedules")
@pytest.mark.deep
@pytest.mark.parametrize("config", [AieTileConfig(), AieTileConfig(multiply=NativeMacConfig(products=SPARSE), pairs=3)])
def test_tiles(config):
    run_bench("aie_tile", config, "verilator", seed=SEED, cases=400, min_tests=8, min_compared=4_000)


@pytest.mark.simulator
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
