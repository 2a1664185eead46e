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

# Defects that an engine of this kind may have, put into its RTL one at a time: the bench must notice each.


CONFIG = TensixEngineConfig(unit=MatrixUnitConfig(rows=2, cols=4))
LOADER = "bitpath.rtl.tensix.engine.tensix_engine:TileLoader"
DEFECTS = {
    "release on flip": (
        "bitpath.rtl.tensix.matrix.registers:SrcRegister.elaborate",
        "with m.If(self.released):",
        "with m.If(self.released | self.flipped):",
        "held_tiles",
    ),
    "exponent of the neighbouring block": (
        f"{LOADER}.elaborate",
        "exponents.word_select(held.row[at_once:], bits)",
        "exponents.word_select(held.row[at_once:] ^ 1, bits)",
        "operand_formats",
    ),
    "a burst that wraps": (
        f"{LOADER}._write",
        "self.o.p.row.eq(written.row)",
        "self.o.p.row.eq(written.row[:-1])",
        "operand_formats",
    ),
}
"""Function, its text as it is and with the defect, and the tests of the bench that must fail."""


@pytest.mark.deep
@covers(
    "tensix_engine.seeded_defects",
    "Loads and held tiles overlap at the documented rate; a bench that passes with one of these bugs checks too little",
)
@pytest.mark.parametrize("name", DEFECTS)
def test_the_bench_notices_a_defect(name, bench_fails):
    """A flip that releases its bank, the exponent of the neighbouring block and a burst of rows that wraps: each fails
    the bench."""
    *mutant, tests = DEFECTS[name]
    bench_fails("tensix_engine", CONFIG, mutant, seed=1, tests=tests, env={"BITPATH_CASES": "0"}, first_failure=True)


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
