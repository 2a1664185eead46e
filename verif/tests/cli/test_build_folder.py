"""The folder of generated files: of the checkout around the current folder, or the one that BITPATH_BUILD names."""

import subprocess
from pathlib import Path

import pytest

from bitpath.sim.engine import paths

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
