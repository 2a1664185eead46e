"""A missing tool gives a one-sentence error with the command that installs it."""

import re

import pytest

from bitpath.sim.engine import tools
from bitpath.sim.engine.errors import MissingToolError


@pytest.mark.parametrize(
    ("simulator", "missing", "says"),
    [
        ("icarus", {"iverilog", "vvp"}, "iverilog, vvp not found; run: sudo apt-get install iverilog"),
        ("verilator", {"g++", "make", "perl"}, "g++, make, perl not found; run: sudo apt-get install g++ make perl"),
    ],
)
def test_missing_programs_are_one_line_with_their_packages(monkeypatch, simulator, missing, says):
    monkeypatch.setattr(tools, "find", lambda name: None if name in missing else name)
    with pytest.raises(MissingToolError, match=f"^{re.escape(says)}$"):
        tools.require_simulator(simulator)


def test_a_python_without_shared_library_says_so(monkeypatch):
    monkeypatch.setattr(tools, "find", lambda name: name)
    monkeypatch.setattr(tools, "libpython", lambda: None)
    with pytest.raises(MissingToolError, match=r"sudo apt-get install libpython3\.11"):
        tools.require_simulator("icarus")


def test_an_unknown_simulator_is_named():
    with pytest.raises(ValueError, match="simulator must be 'icarus' or 'verilator', not 'vcs'"):
        tools.require_simulator("vcs")


def test_the_versions_are_those_of_the_tools_that_run():
    assert "rev" in tools.version("verilator") or "Verilator" in tools.version("verilator")
    assert set(tools.simulator_versions("verilator")) == {"verilator", "g++", "cocotb", "python", "prefix"}
