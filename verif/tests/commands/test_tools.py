"""A missing tool gives a one-sentence error with the command that installs it."""

import re
from pathlib import Path

import pytest

from bitpath.sim.engine import tools
from bitpath.sim.engine.build import build
from bitpath.sim.engine.errors import MissingToolError
from bitpath.verif.kit.testplan import covers


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


@covers("robustness.paths", "The build fails after minutes, in words of make or the shell")
@pytest.mark.parametrize("character", ['"', "\n", "\t", " ", "#", ";", ":"])
def test_a_folder_where_a_build_would_fail_is_refused_at_once(tmp_path, monkeypatch, character):
    """Working folders and environments whose paths hold characters with which a build fails."""
    folder = tmp_path / f"a{character}b"
    folder.mkdir()
    monkeypatch.chdir(folder)
    says = (
        f"^the path .* has {re.escape(repr(character))}, where a build by verilator fails; use a path of ASCII letters"
    )
    with pytest.raises(ValueError, match=says):
        build("element_map", None, "verilator")


@covers("robustness.paths")
@pytest.mark.parametrize("character", "$'%(&*`|\\é #")
def test_an_environment_where_verilator_would_fail_is_refused(character):
    tools.require_plain("icarus", Path("build"), Path(f"a{character}b"))
    with pytest.raises(ValueError, match=f"has {re.escape(repr(character))}, where a build by verilator fails"):
        tools.require_plain("verilator", Path("build"), Path(f"a{character}b"))


@covers("robustness.paths")
def test_a_path_where_builds_do_not_fail_is_taken():
    tools.require_plain("icarus", Path("a #;:b"), Path("a"))
    tools.require_plain("verilator", Path("a$%'&()é`|\\b"), Path("a+,=@~-_.9"))
    with pytest.raises(ValueError, match=r"has '\"', where a build by icarus fails"):
        tools.require_plain("icarus", Path('a"b'), Path("a"))


def test_the_versions_are_those_of_the_tools_that_run():
    assert "rev" in tools.version("verilator") or "Verilator" in tools.version("verilator")
    assert set(tools.simulator_versions("verilator")) == {"verilator", "g++", "cocotb", "python", "prefix"}
