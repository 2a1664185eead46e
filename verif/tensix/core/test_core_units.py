"""Benches of the core and of its parts; the core's own runs are deep tests."""

from dataclasses import replace

import pytest

from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.rtl.tensix.core.config import TensixCoreConfig
from bitpath.rtl.units import find_unit
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.kit.testplan import covers

pytestmark = pytest.mark.simulator
SEED = 20261128
PARTS = {
    "decode": (5, 3_000),
    "config_file": (3, 2_000),
    "wait_gate": (4, 2_000),
    "matrix_operands": (2, 500),
    "move_operands": (2, 2_000),
    "unpack_address": (12, 300),
    "pack_address": (1, 40),
}
"""Tests of a bench, and values that they compare at least."""
CORE_TESTS = 12
FAST = TensixCoreConfig(rows=8, cols=16)
"""The machine's dot products: an MVMUL a cycle."""


@covers("config_file.registers")
@covers("decode.fields")
@covers("matrix_operands.products")
@covers("matrix_operands.zeroed")
@covers("move_operands.moves")
@covers("move_operands.changes")
@covers("pack_address.stores")
@covers("unpack_address.loads")
@covers("unpack_address.last_bytes")
@covers("wait_gate.instructions")
@pytest.mark.parametrize("unit", PARTS)
def test_parts(unit):
    tests, compared = PARTS[unit]
    run_bench(
        unit, find_unit(unit).config_type(), "icarus", cases=30, seed=SEED, min_tests=tests, min_compared=compared
    )


@pytest.mark.deep
@pytest.mark.parametrize("chip", Chip)
@pytest.mark.parametrize("unit", PARTS)
def test_long_parts(unit, chip):
    tests, compared = PARTS[unit]
    config = find_unit(unit).config_type(chip=chip)
    run_bench(unit, config, "verilator", cases=3000, seed=SEED, min_tests=tests, min_compared=compared)


@covers("tensix_core.products")
@pytest.mark.deep
@pytest.mark.parametrize("chip", Chip)
def test_core(chip):
    config = replace(FAST, chip=chip)
    run_bench("tensix_core", config, "verilator", cases=8, seed=SEED, min_tests=CORE_TESTS, min_compared=20_000)
