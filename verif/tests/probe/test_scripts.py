"""The device scripts: Trainium3's runs on golden under the vendor's names, C++ compiles against declarations."""

import ast
import json
import re
import runpy
import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from bitpath.sim.engine.options import MACHINES
from bitpath.sim.study.probe.probe import SCRIPTS, as_hex, c_array, identify, load, predict, write
from bitpath.sim.study.probe.tensix import FLOATS, INTEGERS, MATRIX_UNIT, exact_dot16, exact_phase
from bitpath.sim.study.probe.unit import variants
from bitpath.verif.kit.testplan import covers

HERE = Path(__file__).parent
KINDS = ("MVMUL", "ELWMUL", "ELWADD", "PACK")


@pytest.fixture
def folder(probes, tmp_path, monkeypatch):
    """Return a function that writes a machine's folder and enters it."""

    def enter(machine):
        write(probes[machine][0], tmp_path / machine)
        monkeypatch.chdir(tmp_path / machine)
        return tmp_path / machine

    return enter


def firsts(file):
    """Return the first variant of the class that a file of results fits, by unit."""
    probe, words = load(file)
    fits = identify(words, predict(probe, list(words)))
    assert not any(fit.differences for found in fits.values() for fit in found)
    return {unit: found[0].variants[0] for unit, found in fits.items()}


def words_of(machine, probe, preset):
    """Return the lines of words.txt as a device with a preset's numerics would give them."""
    lines = []
    for prediction in predict(probe, list(probe.dots)):
        (words,) = (own for group, own in prediction.classes if preset in [each.name for each in group])
        for name in probe.dots:
            lines += [word for dot in words.get(name, []) for word in as_hex(dot).split()]
    return lines


@covers("probe.scripts", "Nobody here has the devices, and an engineer's first hour must not go into our mistakes")
@pytest.mark.parametrize("machine", MACHINES)
def test_the_files(folder, probes, machine):
    """The NKI program gives golden's results on golden's instructions; the C++ compiles against declarations; collected
    words are identified."""
    place = folder(machine)
    probe, _ = probes[machine]
    assert load(place / "probe.npz")[0].digest == probe.digest
    predictions = json.loads((place / "predictions.json").read_text())
    assert (predictions["machine"], predictions["digest"]) == (machine, probe.digest)
    for prediction in predict(probe, list(probe.dots)):
        for group, words in prediction.classes:
            for variant in group:
                kept = predictions["units"][prediction.unit.name][variant.name]
                assert kept == {name: [as_hex(dot) for dot in own] for name, own in words.items()}
    scripts = [place / name for name in SCRIPTS[machine]]
    assert {each.name for each in place.iterdir()} == {"probe.npz", "predictions.json", *SCRIPTS[machine]}
    for script in scripts:
        text = script.read_text()
        assert probe.digest in text
        assert script.name == "collect.py" or "Nobody has run this" in text
        if script.suffix == ".py":
            ast.parse(text)


@covers("probe.scripts")
def test_trainium3_s_script_on_golden(folder, monkeypatch):
    spec = spec_from_file_location("fake_nki", HERE / "fake_nki.py")
    fake = module_from_spec(spec)
    spec.loader.exec_module(fake)
    for name, module in fake.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    place = folder("trainium3")
    runpy.run_path("device.py", run_name="__main__")
    assert firsts(place / "results.npz") == {
        "nc_matmul_mx": "trainium3_quad_mx",
        "nc_matmul": "trainium3_matmul",
        "quantize_mx": "quantize_mx_ocp",
    }


@covers("probe.scripts")
@pytest.mark.parametrize(("machine", "preset"), [("tensix", "tensix_wormhole_fixed"), ("aie_ml_v2", "aie_ml_v2_bump")])
def test_words_are_collected(folder, machine, preset):
    place = folder(machine)
    probe, _ = load(place / "probe.npz")
    lines = words_of(machine, probe, preset)
    (place / "words.txt").write_text("\n".join(lines))
    runpy.run_path("collect.py", run_name="__main__")
    assert preset in firsts(place / "results.npz").values()
    (place / "words.txt").write_text("\n".join(lines[:-1]))
    with pytest.raises(AssertionError, match=r"words\.txt ends within"):
        runpy.run_path("collect.py", run_name="__main__")
    (place / "words.txt").write_text("\n".join([*lines, "0"]))
    with pytest.raises(AssertionError, match="1 lines too many"):
        runpy.run_path("collect.py", run_name="__main__")
    (place / "words.txt").write_text("\n".join(["-"] * len(probe.dots)))
    runpy.run_path("collect.py", run_name="__main__")
    assert load(place / "results.npz")[1] == {}


@covers("probe.scripts")
@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
@pytest.mark.parametrize(
    ("machine", "definition"),
    [*(("tensix", f"KIND={kind}") for kind in KINDS), ("aie_ml_v2", "X"), ("aie_ml_v2", "PROBE_MX9=0")],
)
def test_the_syntax_of_c(folder, machine, definition, tmp_path):
    script = folder(machine) / "device.cpp"
    # One header of the stubs declares all; the others that the script includes are empty.
    for name in re.findall(r'#include "(\w+/\w+\.h)"', script.read_text()):
        if not (HERE / "stubs" / name).exists():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).touch()
    command = ["g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable"]
    command += [
        "-Wno-unused-function",
        "-Wno-unused-const-variable",
        f"-D{definition}",
        f"-I{HERE / 'stubs'}",
        f"-I{tmp_path}",
    ]
    done = subprocess.run([*command, script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@covers("probe.scripts")
def test_a_second_mvmul_of_zeros_changes_no_word(probes):
    """A tile product of tt-metal issues one in each phase."""
    dots, zeros, compared = probes["tensix"][0].dots, [0] * 16, 0
    for setting in (*FLOATS, INTEGERS):
        own = dots.get(f"mvmul_{setting.name}", {})
        for dst, b, a in zip(*(own.get(name, np.empty(0)).tolist() for name in ("dst", "src_b", "src_a")), strict=True):
            for variant in variants(MATRIX_UNIT):
                word = dst
                for phase in setting.phases:
                    for operands in ((b, a), (zeros, zeros)):
                        word = exact_phase(variant.numerics, word, *operands, setting=setting, phase=phase)
                assert [word] == exact_dot16(variant.numerics, dst, b, a, setting=setting)
                compared += 1
    assert compared > 100


def test_c_arrays():
    assert c_array(np.array([[1, 255], [0, 16]], np.uint8)) == "{{0x1, 0xff}, {0x0, 0x10}}"
    assert c_array(np.array([-128, 127], np.int8)) == "{-128, 127}"
