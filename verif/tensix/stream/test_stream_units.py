"""Benches of the instruction stream's units, with least counts of tests and comparisons."""

from functools import partial

import pytest

from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.rtl.tensix.stream.counters import CounterConfig
from bitpath.rtl.units import find_unit
from bitpath.sim.engine.runner import run_bench

pytestmark = pytest.mark.simulator
SEED = 20261128
EXPANDERS = {"mop_expander": (7, 4_000), "replay_expander": (7, 9_000), "instruction_expander": (8, 3_000)}
"""Tests of a bench, and values that they compare at least."""
COUNTERS = {"rwc": (5, 1_500), "adc": (5, 1_800)}
CHIPS = {Chip.WORMHOLE: "wh", Chip.BLACKHOLE: "bh"}

bench = partial(run_bench, seed=SEED)


@pytest.mark.parametrize("unit", EXPANDERS)
def test_expanders(unit):
    tests, compared = EXPANDERS[unit]
    config = find_unit(unit).config_type()
    bench(unit, config, "verilator", cases=200, tests="^(?!.*the_longest)", min_tests=tests, min_compared=compared)


@pytest.mark.deep
@pytest.mark.parametrize("unit", EXPANDERS)
def test_long_programs(unit):
    tests, compared = EXPANDERS[unit]
    bench(unit, find_unit(unit).config_type(), "verilator", cases=5000, min_tests=tests, min_compared=compared)


@pytest.mark.parametrize("unit", COUNTERS)
def test_counters(unit):
    tests, compared = COUNTERS[unit]
    bench(unit, CounterConfig(), "verilator", cases=500, min_tests=tests, min_compared=compared)


@pytest.mark.deep
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("unit", COUNTERS)
def test_long_counts(unit, chip):
    tests, _ = COUNTERS[unit]
    bench(unit, CounterConfig(chip=chip), "verilator", cases=20_000, min_tests=tests, min_compared=40_000)
