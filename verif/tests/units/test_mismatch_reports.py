# amaranth: UnusedElaboratable=no
"""The report of a failing bench: real benches on designs whose rounder truncates."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from bitpath.rtl.units import find_unit
from bitpath.sim.commands import campaigns, explain
from bitpath.sim.engine import build as building
from bitpath.sim.engine.runner import SimulationError, build, run
from bitpath.verif.kit.code_mutants import mutated

pytestmark = pytest.mark.simulator

ROOT = Path(__file__).resolve().parents[3]
ROUNDER = "bitpath.rtl.common.arithmetic.round"
TRUNCATED = (f"{ROUNDER}:increment", "guard & (sticky | up) if mode.to_nearest", "Const(0) if mode.to_nearest")
INVERTED = (f"{ROUNDER}:increment_inverted", "carried | increment(", "carried | Const(0) & increment(")
SELECTED = (f"{ROUNDER}:RoundIncrement.elaborate", "self.guard & (self.sticky | preferred)", "Const(0)")
ELEMENTS = (
    "bitpath.rtl.trainium3.dot.element_map:ElementMap.elaborate",
    "self.o.scale.eq(self.word.scale)",
    "self.o.scale.eq(self.word.scale | 1)",
)
CASES = {"BITPATH_CASES": "60"}


def failed(unit, simulator, mutant, tests, emitter_of):
    """Run a bench on a mutant of a unit; return the lines of its report."""
    emitter = emitter_of(lambda name, config: find_unit(name).build(config))
    with mutated(*mutant):
        built = build(unit, find_unit(unit).config_type(), simulator, emitter=emitter)
    with pytest.raises(SimulationError) as caught:
        run(built, find_unit(unit).bench, seed=3, tests=tests, env=CASES, check_bins=False)
    return str(caught.value)


def rows(report):
    """Return the lines of the first mismatch by their names, each with its continuation joined."""
    first = re.sub(r"\n {15}", " ", report.partition("further mismatches")[0])
    return {row[:13].strip(): row[13:] for row in re.findall(r"^  (.+)$", first, re.M)}


def test_psum_on_verilator(elsewhere, emitter_of):
    """The terminal shows the first mismatch with its operands, whatever cocotb prints after it."""
    report = failed("psum", "verilator", TRUNCATED, "lanes_beside_the_host/pace=full_speed", emitter_of)
    lines = report.splitlines()
    assert lines[0].startswith("psum on verilator, seed 3: 2 of 2 tests failed: lanes_beside_the_host/pace=full_speed/")
    assert re.fullmatch(r"first mismatch: \S+/busy=0.5, data, value \d+, at \d+ ns, cycle \d+", lines[1])
    found = rows(report)
    assert re.fullmatch(r"bank \d, index \d+, column \d, (FP32|BF16)", found["place"])
    assert found["written by"].startswith("a lane, cycle ")
    assert all(re.fullmatch(r"0x\w+ = \S+", found[name]) for name in ("value", "present", "got", "expected"))
    assert found["distance"].endswith(" ulp")
    further = [line for line in lines if line.startswith("  lanes_beside")]
    assert further
    assert all(re.search(r"field \d: got 0x\w{8} = \S+, expected 0x\w{8} = \S+, \d+ ulp$", line) for line in further)
    assert len(lines) < 30


@pytest.mark.parametrize(
    ("unit", "mutant", "tests"),
    [
        ("quad_mx_pe", TRUNCATED, "tiles_back_to_back/stall=none"),
        ("dot16", INVERTED, "directed_corners/mode=BF16_into_32"),
        ("mac_lane", SELECTED, "directed_corners/kind=mx6"),
    ],
)
def test_the_explain_line_gives_the_expected_code(unit, mutant, tests, elsewhere, emitter_of):
    found = rows(failed(unit, "icarus", mutant, tests, emitter_of))
    code, _ = found["expected"].split(" = ")
    words = shlex.split(found["explain"])
    assert words[:2] == ["bitpath", "explain"]
    text = CliRunner().invoke(explain.explain_command, words[2:], catch_exceptions=False).output
    assert re.findall(r"^result +(0x\w+)", text, re.M)[-1] == code


def test_the_replay_line_repeats_the_mismatch_with_a_wave(elsewhere, emitter_of, monkeypatch):
    emitter = emitter_of(lambda name, config: find_unit(name).build(config))
    report = failed("element_map", "icarus", ELEMENTS, "random_tables", lambda _: emitter)
    line = report.splitlines()[-1].removeprefix("replay: ")
    # Make prints what it would run.
    command = line.replace("make sim", f"make -n --no-print-directory -f {ROOT}/Makefile sim")
    printed = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout
    words = shlex.split(printed.splitlines()[-1])
    monkeypatch.setenv(*next(iter(CASES.items())))
    monkeypatch.setattr(building, "rtl_emitter", lambda: emitter)
    with mutated(*ELEMENTS), pytest.raises(SimulationError) as again:
        CliRunner().invoke(campaigns.test_sim_command, words[words.index("test-sim") + 1 :], catch_exceptions=False)
    assert report.splitlines()[1:3] == str(again.value).splitlines()[1:3]
    assert list(Path("build/runs").rglob("*.fst"))
