"""Benches of the core and of its parts, and the known answers of whole programs; the core's own runs are deep tests."""

from dataclasses import replace

import pytest

from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.rtl.tensix.core.config import TensixCoreConfig
from bitpath.rtl.units import find_unit
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tensix.program.programs import ARCHIVE, CHIPS, CONTROL

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
KNOWN = "tensix.core.tb_tensix_core_known_answers"
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


@covers("tensix_core.known_answers")
@pytest.mark.deep
@pytest.mark.parametrize("chip", CHIPS)
def test_programs_known_answers(replay, kat, chip):
    """All programs of a chip on the machine's dot products."""
    archive = kat(ARCHIVE)
    numbers = [int(each["id"]) for each in archive["meta"] if each["chip"] == chip]
    compared = sum(
        archive[f"{chip}{number:02}_after"].size + len(archive[f"{chip}{number:02}_trace"]) for number in numbers
    )
    replay("tensix_core", replace(FAST, chip=CHIPS[chip]), KNOWN, min_compared=compared)


@covers("tensix_core.known_instructions")
@pytest.mark.deep
def test_instructions_known_answers(replay, kat):
    """Every ZEROACC, with any counter and offset, and every MVMUL with implied formats; Blackhole's alone are known."""
    archive = kat(CONTROL)
    compared = 8 * archive["z_defined"].size + archive["i_out"].size
    bench = "tensix.core.tb_tensix_core_instructions_known_answers"
    assert replay("tensix_core", replace(FAST, chip=Chip.BLACKHOLE), bench, min_tests=2).compared == compared


@covers("tensix_core.products")
@pytest.mark.deep
@pytest.mark.parametrize("chip", Chip)
def test_core(chip):
    config = replace(FAST, chip=chip)
    run_bench("tensix_core", config, "verilator", cases=8, seed=SEED, min_tests=CORE_TESTS, min_compared=20_000)
