"""The parts of an installation: the commands without any extra, and the folder of generated files."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from bitpath.sim.__main__ import SELF, cli
from bitpath.sim.engine import paths
from bitpath.sim.engine.tools import EXTRAS
from bitpath.verif.kit.riscv import RET, elf, packed

# The commands after a bare ``pip install .``: those of golden answer, the others name the extra that they need.


OF_GOLDEN = {
    "asm": "asm tensix product.s",
    "explain": "explain trainium3 --output 3,5 --format mxfp4 --slice 8x128x8",
    "export-c": "export-c tensix -o c",
    "identify": "identify results.npz",
    "nki": "nki rows.py:twice --args x.npz -o out.npz",
    "numerics": "numerics",
    "oracle": "oracle case.json --write-expected golden.bin",
    "rates": "rates tensix",
    "tensix": "tensix run kernel.elf --dump 0x1000:4",
}
"""Commands that need no simulator."""
BARE = """
import contextlib, io, json, sys
for name in json.loads(sys.argv[1]):
    sys.modules[name] = None
from bitpath.sim.__main__ import main
found = {}
for line in json.loads(sys.argv[2]):
    sys.argv = ["bitpath", *line.split()]
    texts = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(texts[0]), contextlib.redirect_stderr(texts[1]):
        try:
            main()
        except SystemExit as end:
            found[line] = [end.code or 0, *(each.getvalue() for each in texts)]
print(json.dumps(found))
"""
"""Runs commands one after the other, without the packages of the first argument."""
KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def twice(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


def bare(folder, *lines):
    """Run commands without the packages of any extra; return status, output and errors of each."""
    absent = sorted({name for modules in EXTRAS.values() for name in modules} | {"torch", "dask", "yaml", "tornado"})
    command = [sys.executable, "-c", BARE, json.dumps(absent), json.dumps(lines)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_commands_of_golden_need_no_extra(tmp_path, monkeypatch):
    import numpy as np

    from bitpath.sim.study.probe.probe import Probe, save

    monkeypatch.chdir(tmp_path)
    Path("product.s").write_text("NOP\n")
    Path("kernel.elf").write_bytes(elf(packed([RET])))
    Path("rows.py").write_text(KERNEL)
    np.savez("x.npz", x=np.ones((4, 8), np.float32))
    case = dict.fromkeys(("in_a", "register_format", "mid_format", "out_format"), "Float16_b")
    Path("a.bin").write_bytes(bytes(2048))
    Path("case.json").write_text(json.dumps({"op": "datacopy", "l1_a": "a.bin", **case}))
    save(Probe("tensix", (), "", {}), Path("results.npz"))
    answers = bare(tmp_path, "--help", *OF_GOLDEN.values())
    refused = answers.pop(OF_GOLDEN["identify"])
    # The archive was read: it has no results.
    assert refused == [
        2,
        "",
        "bitpath: results.npz has no results; run the device script, which adds them to the probe\n",
    ]
    assert {line: (status, errors) for line, (status, _, errors) in answers.items()} == dict.fromkeys(answers, (0, ""))
    assert "0x02000000" in answers[OF_GOLDEN["asm"]][1]
    assert "0x00001000: 67 80 00 00" in answers[OF_GOLDEN["tensix"]][1]
    assert np.load("out.npz")["out_0"].tolist() == [[1.0] * 8] * 4
    assert Path("golden.bin").read_bytes() == bytes(2048)
    assert sorted(file.suffix for file in Path("c").iterdir()) == [".c", ".h", ".sv"]


def test_every_other_command_names_its_extra(tmp_path):
    """Also with wrong arguments none of them ends with a traceback, and each has its help."""
    given = {
        "check": "a.v --unit dot16",
        "emit": "dot16 --out o",
        "probe": "tensix",
        "self test-sim": "dot16",
        "waves": "dot16",
    }
    users = [name for name in cli.list_commands(None) if name not in (*OF_GOLDEN, "self")]
    others = [*users, *(f"self {name}" for name in SELF)]
    lines = {name: f"{name} {given.get(name, '')}".strip() for name in others}
    answers = bare(tmp_path, *lines.values(), *(f"{name} --help" for name in others), "nki a.py:b --rtl")
    for name in others:
        assert answers[f"{name} --help"][0] == 0
    assert {line: (status, out) for line, (status, out, _) in answers.items() if "--help" not in line} == dict.fromkeys(
        (*lines.values(), "nki a.py:b --rtl"), (3, "")
    )
    model = "bitpath: gguf is not in this Python environment; run: pip install 'bitpath[lm]' "
    assert answers["lm"][2] == f"{model}(in a checkout: python3 -I sim/engine/bootstrap.py lm)\n"
    says = "bitpath: Amaranth is not in this Python environment; run: pip install 'bitpath[sim]' (in a checkout: make setup)\n"
    assert {errors for line, (_, _, errors) in answers.items() if line != "lm" and "--help" not in line} == {says}
    assert list(tmp_path.iterdir()) == []


ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("below", ["", "docs", "verif/tests/cli"])
def test_it_is_found_from_every_folder_of_a_checkout(monkeypatch, below):
    monkeypatch.chdir(ROOT / below)
    assert paths.build_root() == ROOT / "build"


def test_it_is_below_the_current_folder_outside_of_a_checkout(elsewhere, tmp_path):
    assert paths.build_root() == tmp_path / "build"


@pytest.mark.parametrize(("named", "found"), [("own", "own"), ("../own", "../own"), ("", "build")])
def test_a_variable_names_another(elsewhere, tmp_path, monkeypatch, named, found):
    monkeypatch.setenv("BITPATH_BUILD", named)
    assert paths.reports() == (tmp_path / found).resolve() / "reports"


def test_a_variable_counts_in_a_checkout_too(monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT / "docs")
    monkeypatch.setenv("BITPATH_BUILD", str(tmp_path))
    assert paths.simulations() == tmp_path / "sim"


def test_a_command_writes_there(bitpath, tmp_path, monkeypatch):
    monkeypatch.setenv("BITPATH_BUILD", str(tmp_path / "own"))
    assert bitpath("report", "--quiet") == (0, "", "")
    assert [file.name for file in tmp_path.iterdir()] == ["own"]
    assert (tmp_path / "own" / "reports" / "report.json").exists()


def test_make_writes_its_reports_there(tmp_path, monkeypatch):
    monkeypatch.setenv("BITPATH_BUILD", str(tmp_path))
    shown = subprocess.run(["make", "-n", "test-fast"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert f"--junitxml={tmp_path}/reports/test-fast.xml" in shown


@pytest.mark.parametrize(("simulator", "installs"), [(None, False), ("verilator", False), ("icarus", True)])
def test_make_sim_needs_no_apt_by_default(simulator, installs):
    words = ["make", "-n", "sim", "UNIT=dot16", *([f"SIM={simulator}"] if simulator else [])]
    shown = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert ("--need icarus --install" in shown) == installs
    assert ("--sim" in shown) == (simulator is not None)


def test_an_import_without_torch_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "bitpath.torch", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"^bitpath\.torch needs torch; run: pip install 'bitpath\[torch\]'$"):
        importlib.import_module("bitpath.torch")
