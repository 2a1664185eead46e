"""The tests include the run that each unit's bin list records, in `make test` if possible, so that no bin is lost."""

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from bitpath.golden.aie_ml_v2.declarations.codes import MX_FORMATS
from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns.coverage import SEED
from bitpath.sim.engine import bins
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.aie_ml_v2.convert import mx_convert as aie_convert
from bitpath.verif.aie_ml_v2.convert import tb_srs as aie_srs
from bitpath.verif.aie_ml_v2.convert import tb_ups as aie_ups
from bitpath.verif.aie_ml_v2.mac import mac_corners as aie_mac
from bitpath.verif.aie_ml_v2.mac.mac import FLOATS
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tensix.dot import dot as tensix_dot
from bitpath.verif.tensix.dot.dot import FLOAT_MODES
from bitpath.verif.tensix.pack import pack_corners as tensix_pack_corners
from bitpath.verif.trainium3.dot import quad_mx_corners
from bitpath.verif.trainium3.measured import MEASURED, WIDE
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant import CORNERS
from bitpath.verif.trainium3.vector import exponential

VERIF = Path(__file__).parents[2]
WITHOUT_BENCHES = (
    "tests/units/test_emit.py",
    "tests/units/test_dead_designs.py",
    "tests/units/test_testbench.py",
    "tests/c",
    "tests/campaigns",
    "tests/check",
    "tests/cli",
    "tests/commands",
    "tests/field",
    "tests/golden",
    "tests/ledger",
    "tests/probe",
    "tests/report",
    "tests/torch",
    "tests/waves",
    "house",
    *(f"{machine}/golden" for machine in ("aie_ml_v2", "common", "tensix", "trainium3")),
)
"""Tests that hold no unit to its bins."""
_SMALL_MEMORIES = "`make test` runs it with the memories that a layer needs, most of whose addresses no bench reaches"
_FEW_LANES = "`make test` runs it on Verilator with another number of lanes, which are alike"
_ON_ICARUS = "`make test` runs a part of its bench on Icarus; the measured run takes longer"
_FEWER = "`make test` runs other numerics, or fewer cases and tests, on Verilator; the measured run takes 20 s of processor time"
_FEWER_CASES = "`make test` runs its bench with fewer cases"
ONLY_DEEP = {
    "tensor_engine": _SMALL_MEMORIES,
    "core": "`make test` runs its engines and memories alone; to build a core on Verilator takes minutes",
    "core_array": "`make test` runs some modes on Icarus, and known answers; to build and run all modes takes a minute",
    **dict.fromkeys(("reciprocal", "square_root", "reciprocal_square_root", "srs", "ups"), _FEW_LANES),
    **dict.fromkeys(("quad_mx_dot", "mac_lane"), _FEWER),
    "post_add": _ON_ICARUS,
    **dict.fromkeys((*MEASURED, *WIDE, "cascade_link", "copy_lanes", "stochastic_psum", "dot16"), _ON_ICARUS),
    **dict.fromkeys(("bf16_pe", "exponential"), _ON_ICARUS),
    **dict.fromkeys(
        ("cascade", "aie_engine"), "`make test` runs its stages, lanes and sequencers; to build it whole takes a minute"
    ),
    "matrix_unit": "`make test` runs a layer by `bitpath run`; to build its bench takes a minute",
    **dict.fromkeys(("float_narrow", "float_widen", "float_floor", "fix_float", "float_fix"), _ON_ICARUS),
    **dict.fromkeys(("nonlinear", "data_memory", "vector_registers", "load_fifo", "store_fifo"), _ON_ICARUS),
    **dict.fromkeys(("tensix_engine", "mover", "systolic_array"), _ON_ICARUS),
    "tensix_core": "`make test` runs its parts; to build it takes minutes",
    **dict.fromkeys(
        ("decode", "config_file", "wait_gate", "matrix_operands", "move_operands", "unpack_address", "pack_address"),
        _FEWER_CASES,
    ),
    **dict.fromkeys(("wide_lanes", "sparse_route", "operand_shapes", "psum", "rmsnorm_quant"), _FEWER_CASES),
    **dict.fromkeys(("shuffle", "vector_alu", "vector_move"), _FEWER_CASES),
    "packer": "`make test` runs its bench without the sweeps of all 16-bit words",
    "aie_tile": "`make test` runs its parts; to build it takes minutes",
    **dict.fromkeys(("mop_expander", "replay_expander", "instruction_expander", "rwc", "adc"), _FEWER_CASES),
}
"""Units whose measured run is a deep test alone, with the reason why none of `make test` is that run."""


@covers("coverage.held")
@pytest.mark.deep
def test_make_test_holds_the_bins_of_every_unit(tmp_path):
    """In runs in which nothing is hit, all others lose bins; a deep test, as it collects and begins all of `make test`."""
    file = tmp_path / "refused.json"
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    own |= {"BITPATH_REFUSED": str(file), "PYTHONPATH": str(Path(__file__).parent / "dry_runs")}
    options = ["-q", "-p", "dry_runs", "-p", "no:cacheprovider", "-c", str(VERIF.parent / "pyproject.toml")]
    options += ["-m", "simulator and not deep", *(f"--ignore={VERIF / name}" for name in WITHOUT_BENCHES)]
    command = [sys.executable, "-m", "pytest", *options, str(VERIF)]
    ran = subprocess.run(command, check=False, cwd=tmp_path, env=own, capture_output=True, text=True)
    # Tests fail, as they are to; those that could not be collected would be missed.
    assert ran.returncode == pytest.ExitCode.TESTS_FAILED, ran.stdout + ran.stderr
    assert set(json.loads(file.read_text())) == set(UNITS) - ONLY_DEEP.keys()


def bins_of(corners):
    return {corner.bin for corner in corners}


DECLARED = {
    "quad_mx_dot": lambda config: bins_of(quad_mx_corners.corners(config.numerics, Random(0))),
    "exponential": lambda config: bins_of(exponential.corners(config.numerics, Random(0))),
    "dot16": lambda config: {name for mode in FLOAT_MODES for name in tensix_dot.bins(config.numerics, mode)},
    "packer": lambda config: bins_of(tensix_pack_corners.corners(config.numerics)),
    "mac_lane": lambda config: {
        name for kind in (*MX_FORMATS.values(), *FLOATS) for name in aie_mac.bins(config.numerics, kind)
    },
    "mx_convert": lambda config: bins_of(aie_convert.corners(config.numerics, config.blocks.layouts.formats)),
    "srs": lambda config: bins_of(aie_srs.corners()),
    "ups": lambda config: bins_of(aie_ups.corners()),
    "rmsnorm_quant": lambda config: {corner.name for corner in CORNERS},
}
"""The bins of directed corners, of units whose benches take them from a table of the stimulus."""


@covers("coverage.lists")
@pytest.mark.parametrize("unit", DECLARED)
def test_every_directed_corner_is_held(unit):
    (test,) = bins.load(unit)["bins"].keys() & {"directed_corners", "stated_corners"}
    assert set(bins.load(unit)["bins"][test]) == DECLARED[unit](UNITS[unit].covered.config)


@covers("coverage.held")
@pytest.mark.deep
@pytest.mark.simulator
@pytest.mark.parametrize("unit", ONLY_DEEP)
def test_the_run_that_is_measured(unit):
    measured = UNITS[unit].covered
    options = {"cases": measured.cases, "tests": measured.tests, "env": measured.env}
    run_bench(unit, measured.config, "verilator", seed=SEED, timeout=3600, **options)
