"""Bench of SFP_STOCH_RND on both simulators."""

import pytest

from bitpath.golden.tensix.declarations.numerics import BLACKHOLE, WORMHOLE, StochasticCompare
from bitpath.rtl.tensix.vector.stochastic_round import SfpStochasticRoundConfig
from bitpath.sim.engine.runner import run_bench

pytestmark = pytest.mark.simulator
SEED = 20261128
ALL = 13
"""Tests of the bench."""
SHORT = {"BITPATH_SEQUENCE": "300"}


def of(preset):
    return SfpStochasticRoundConfig(numerics=preset.numerics)


EARLIER = WORMHOLE.variant(
    "earlier", stochastic_compare=(StochasticCompare.ALL_BITS, WORMHOLE.sources["stochastic_compare"])
)
"""The comparison of the documents' earlier pages."""


@pytest.mark.parametrize("preset", [pytest.param(WORMHOLE, marks=pytest.mark.deep), BLACKHOLE], ids=["wh", "bh"])
def test_on_verilator(preset):
    """Corners, every discarded value, seeds, 10,000 steps, every pace, latency, resets."""
    compared = 16_000 + 4 * 300
    run_bench(
        "sfp_stochastic_round", of(preset), "verilator", cases=300, seed=SEED, min_tests=ALL, min_compared=compared
    )


@pytest.mark.deep
def test_on_icarus():
    run_bench(
        "sfp_stochastic_round",
        of(BLACKHOLE),
        "icarus",
        cases=50,
        tests="^(?!.*(every_discarded|edges))",
        env=SHORT,
        seed=SEED,
        min_tests=10,
        min_compared=500,
    )


@pytest.mark.deep
def test_comparison_of_all_bits():
    run_bench(
        "sfp_stochastic_round", of(EARLIER), "verilator", cases=2000, seed=SEED, min_tests=ALL, min_compared=20_000
    )
