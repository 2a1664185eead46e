"""A missing tool gives a one-sentence error with the command that installs it."""

import pytest

from bitpath.sim.engine import tools
from bitpath.sim.engine.errors import MissingToolError


def test_a_missing_program_names_its_package(monkeypatch):
    monkeypatch.setattr(tools, "find", lambda name: None if name in ("iverilog", "vvp") else name)
    with pytest.raises(MissingToolError, match=r"^iverilog, vvp not found; run: sudo apt-get install iverilog$"):
        tools.require_simulator("icarus")


def test_several_missing_programs_are_one_line(monkeypatch):
    monkeypatch.setattr(tools, "find", lambda name: name if name == "verilator" else None)
    with pytest.raises(MissingToolError, match=r"run: sudo apt-get install g\+\+ make perl$"):
        tools.require_simulator("verilator")


def test_a_python_without_shared_library_says_so(monkeypatch):
    monkeypatch.setattr(tools, "find", lambda name: name)
    monkeypatch.setattr(tools, "libpython", lambda: None)
    with pytest.raises(MissingToolError, match=r"sudo apt-get install libpython3\.11"):
        tools.require_simulator("icarus")


def test_an_unknown_simulator_is_named():
    with pytest.raises(ValueError, match="unknown simulator 'vcs', known are icarus, verilator"):
        tools.require_simulator("vcs")


def test_the_versions_are_those_of_the_tools_that_run():
    assert "rev" in tools.version("verilator") or "Verilator" in tools.version("verilator")
    assert set(tools.simulator_versions("verilator")) == {"verilator", "g++", "cocotb", "python", "prefix"}
