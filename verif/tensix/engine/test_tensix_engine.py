"""Bench of the Tensix engine on both simulators, and one result from all shapes; `make test` runs it through `bitpath run`."""

from functools import partial

import numpy as np
import pytest

from bitpath.golden.tensix.declarations.numerics import BLACKHOLE
from bitpath.rtl.tensix.engine.command import TensixEngineConfig
from bitpath.rtl.tensix.matrix.instruction import MatrixUnitConfig
from bitpath.sim.engine.runner import run_bench
from bitpath.sim.flows.tensix_matmul import ENGINES
from bitpath.verif.kit.testplan import covers

pytestmark = pytest.mark.simulator
SEED = 20251122
ALL = 37
"""Names of all tests of the bench."""
SAME = "same_on_every_engine"
WORDS = 256
"""Words of the result memory, all compared after each run of commands."""

DEFAULT = TensixEngineConfig()
FAST = TensixEngineConfig(unit=MatrixUnitConfig(rows=4, cols=8))
"""Engine whose products take no longer than loading or storing a tile, so that these can stall it."""


bench = partial(run_bench, "tensix_engine", seed=SEED, min_tests=ALL)


BLACKHOLE_ENGINE = TensixEngineConfig(unit=MatrixUnitConfig(numerics=BLACKHOLE.numerics))


@covers("tensix_command_check.codes")
def test_some_codes_are_checked():
    run_bench("tensix_command_check", DEFAULT, "icarus", seed=SEED, cases=100, min_tests=6, min_compared=1_500)


@covers("tensix_command_check.codes")
@pytest.mark.deep
@pytest.mark.parametrize("config", [DEFAULT, BLACKHOLE_ENGINE], ids=["wormhole", "blackhole"])
def test_every_code_is_checked(config):
    run_bench("tensix_command_check", config, "verilator", seed=SEED, cases=1000, min_tests=6, min_compared=12_000)


@covers("tensix_engine.operands")
@covers("tensix_engine.chosen_numbers")
@covers("tensix_engine.packing_tile")
@covers("tensix_engine.pace")
@covers("tensix_engine.reset")
@pytest.mark.deep
@pytest.mark.parametrize("config", [FAST, DEFAULT], ids=["4x8", "2x4"])
def test_on_verilator(config):
    """Operand and result formats, chains through all of Dst, chosen numbers, programs, matmuls, throughput, resets."""
    bench(config, "verilator", cases=4, min_compared=50 * WORDS)


@pytest.mark.deep
def test_a_product_on_icarus():
    """One product in LoFi, with all words of the result memory; Verilator takes longer to build an engine.

    Icarus runs at about ten cycles a second; the tests of `bitpath run` also run part of a layer on it.
    """
    bench(ENGINES["icarus"], "icarus", cases=0, tests=SAME, min_tests=1, min_compared=WORDS)


@covers("tensix_engine.one_result")
@pytest.mark.parametrize(
    ("simulator", "config"),
    [("verilator", DEFAULT), ("icarus", ENGINES["icarus"])],
    ids=["2x4-verilator", "2x4-icarus"],
)
@pytest.mark.deep
def test_one_result_from_every_engine(simulator, config, tmp_path):
    """A product in LoFi must give the result of 4x8 dot products on Verilator."""
    results = []
    for name, engine in (("verilator", FAST), (simulator, config)):
        file = tmp_path / f"{len(results)}.npy"
        env = {"BITPATH_RESULT": str(file)}
        bench(engine, name, cases=0, tests=SAME, min_tests=1, min_compared=WORDS, env=env)
        results.append(np.load(file))
    assert len(np.unique(results[0].view(np.uint32))) > 900
    assert np.array_equal(*results)


@pytest.mark.deep
@pytest.mark.parametrize("config", [DEFAULT, ENGINES["verilator"]], ids=["2x4", "8x16"])
def test_volume(config):
    bench(config, "verilator", cases=100, tests="formats|programs", min_tests=10, min_compared=100 * WORDS)
