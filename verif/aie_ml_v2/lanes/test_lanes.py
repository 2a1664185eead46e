"""Benches of the lane-by-lane conversions on both simulators with the counts to reach."""

from dataclasses import replace
from functools import partial

import pytest

from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2
from bitpath.rtl.aie_ml_v2.lanes.layouts import MxWidenConfig, PackConfig
from bitpath.sim.engine.runner import run_bench

pytestmark = pytest.mark.simulator
SEED = 20251127
bench = partial(run_bench, seed=SEED)
PLAIN = MxWidenConfig(numerics=replace(AIE_ML_V2.numerics, mx_nan_block=False))

BENCHES = {
    "pack_unpack-icarus": ("pack_unpack", PackConfig(), "icarus", 60, 8, 900),
    "mx_widen-icarus": ("mx_widen", MxWidenConfig(), "icarus", 30, 7, 600),
}
"""Unit, configuration, simulator, cases, and the least tests and comparisons."""
DEEP = {
    "pack_unpack-verilator": ("pack_unpack", PackConfig(lanes=64), "verilator", 1024, 8, 10_000),
    "mx_widen-verilator": ("mx_widen", MxWidenConfig(blocks=4), "verilator", 5000, 7, 20_000),
    "mx_widen-plain-verilator": ("mx_widen", PLAIN, "verilator", 1000, 7, 4000),
}


@pytest.mark.parametrize("name", [*BENCHES, *(pytest.param(name, marks=pytest.mark.deep) for name in DEEP)])
def test_bench(name):
    """Directed cases, random ones at every pace, latency, resets."""
    unit, config, simulator, cases, tests, compared = (BENCHES | DEEP)[name]
    bench(unit, config, simulator, cases=cases, min_tests=tests, min_compared=compared)


def test_a_unit_has_lanes():
    with pytest.raises(ValueError, match="lanes must be 1 to"):
        PackConfig(lanes=0)


def test_a_unit_has_blocks():
    with pytest.raises(ValueError, match="mx widen: blocks must be 1 to 4, not 5"):
        MxWidenConfig(blocks=5)
