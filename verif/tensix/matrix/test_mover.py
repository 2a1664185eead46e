"""Bench of the mover on both simulators, with known answers."""

import pytest

from bitpath.golden.tensix.declarations.numerics import BLACKHOLE, WORMHOLE, WORMHOLE_DOCUMENTED
from bitpath.rtl.tensix.matrix.instruction import MoverConfig
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.kit.testplan import covers

pytestmark = pytest.mark.simulator
SEED = 20261128
TESTS = 6
PRESETS = (WORMHOLE, WORMHOLE_DOCUMENTED, BLACKHOLE)


def of(preset):
    return MoverConfig(numerics=preset.numerics)


@covers("mover.moves")
def test_mover():
    """Every fourth of the kinds, formats and widths, on Icarus, which builds it in seconds."""
    run_bench(
        "mover", of(WORMHOLE_DOCUMENTED), "icarus", cases=1, tests="latency", seed=SEED, min_tests=1, min_compared=60
    )


@pytest.mark.deep
@pytest.mark.parametrize("preset", PRESETS, ids=lambda each: each.name)
def test_long(preset):
    run_bench("mover", of(preset), "verilator", cases=2000, seed=SEED, min_tests=TESTS, min_compared=6000)


@covers("mover.known_answers")
@pytest.mark.deep
def test_mover_known_answers(replay, kat):
    """All registers after every move."""
    moves = len(kat("tensix_bh_control.npz")["m_in"])
    result = replay("mover", of(BLACKHOLE), "tensix.matrix.tb_mover_known_answers", seed=SEED, min_tests=1)
    assert result.compared >= moves > 0
