# amaranth: UnusedElaboratable=no
"""Counts and reports of a scoreboard, without a simulator."""

import re
import shlex
import subprocess
from logging import getLogger
from pathlib import Path
from types import SimpleNamespace

import pytest
from amaranth.lib import data
from click.testing import CliRunner

from bitpath.golden.formats.catalogue import E2M1, FP32
from bitpath.rtl.units import find_unit
from bitpath.sim.commands import campaigns, explain
from bitpath.sim.engine import build as building
from bitpath.sim.engine.runner import SimulationError, build, run
from bitpath.verif.kit import mismatches, scoreboard
from bitpath.verif.kit.code_mutants import mutated
from bitpath.verif.kit.scoreboard import FIRST_MISMATCH, IMPATIENT, SHOWN, Scoreboard
from bitpath.verif.kit.testplan import covers
from bitpath.verif.kit.values import Word

ONE = 0x3F800000
MANY = (1, 19, 255, 256, 257, 512)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of a run, at 635 ns of a test."""
    monkeypatch.setenv("BITPATH_RECORDS", str(tmp_path / "records.jsonl"))
    monkeypatch.delenv(IMPATIENT, raising=False)
    monkeypatch.setattr(scoreboard.cocotb, "log", getLogger("cocotb"), raising=False)
    monkeypatch.setattr(scoreboard, "get_sim_time", lambda unit: {"ns": 635, "ps": 635_000}[unit])
    monkeypatch.setattr(scoreboard, "test_name", lambda: "sums")
    return tmp_path


def compared(wrong, count=512, **options):
    """Return a scoreboard of values with the first ones wrong, after all of them came."""
    board = Scoreboard("o", 32, {"": FP32}, **options)
    for number in range(count):
        board.expect(ONE + number, f"operand {number}")
    for number in range(count):
        board.got(ONE + number + (number < wrong))
    return board


def test_values_that_agree(folder):
    board = compared(0)
    assert (board.compared, board.mismatches, board.pending) == (512, 0, 0)
    board.finish(512)
    assert not list(folder.iterdir())


@covers("mutation.comparisons")
@pytest.mark.parametrize("wrong", MANY)
def test_any_number_of_mismatches_fails(wrong, folder, monkeypatch):
    monkeypatch.setattr(scoreboard, "SHOWN", 1000)
    board = compared(wrong)
    assert (board.compared, board.mismatches) == (512, wrong)
    with pytest.raises(AssertionError, match=rf"^o: {wrong} mismatches in 512 values$"):
        board.finish()
    first, further = mismatches.whole(folder)
    assert first.startswith("first mismatch: sums, o, value 0, at 635 ns\n")
    assert len(further) == wrong - 1
    report = mismatches.report(folder).splitlines()
    assert ("further mismatches:" in report) is (wrong > 1)
    assert sum(line.startswith("  sums, o, value ") for line in report) == min(wrong - 1, mismatches.SHOWN)
    more = wrong - 1 - mismatches.SHOWN
    assert (report[-1] == f"  and {more} more") is (more > 0)


@pytest.mark.parametrize(("environment", "last"), [({}, 20), ({IMPATIENT: "1"}, 1)])
def test_a_run_stops_after_some_mismatches(environment, last, folder, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(AssertionError, match=rf"^o: {last} mismatches in {last} values, stopped$"):
        compared(512)
    assert len(mismatches.whole(folder)[1]) == last - 1


@pytest.mark.usefixtures("folder")
def test_one_mismatch_fewer_does_not_stop_it():
    assert compared(SHOWN - 1).mismatches == SHOWN - 1


def test_the_first_mismatch_has_its_time_and_its_operands(folder):
    board = Scoreboard("o", 32, {"": FP32}, moment=lambda: "in time")
    board.expect(ONE, "1 + 0")
    board.expect(ONE, "2 - 1")
    board.got(ONE)
    board.got(ONE + 2)
    first, further = mismatches.whole(folder)
    assert first.splitlines() == [
        "first mismatch: sums, o, value 1, in time",
        "  inputs       2 - 1",
        "  got          0x3f800002 = 1.00000024",
        "  expected     0x3f800000 = 1",
        "  distance     2 ulp",
    ]
    assert not further
    assert (folder / FIRST_MISMATCH).read_text() == "635000\n"
    (folder / FIRST_MISMATCH).write_text("of another scoreboard")
    board.expect(ONE)
    board.got(0)
    assert mismatches.whole(folder)[1] == [
        "  sums, o, value 2, in time: got 0x00000000 = 0, expected 0x3f800000 = 1, 1065353216 ulp"
    ]
    assert (folder / FIRST_MISMATCH).read_text() == "of another scoreboard"


@pytest.mark.usefixtures("folder")
def test_each_comparison_is_shown_in_the_wave():
    shown = []
    compared(1, 2, show=lambda *each: shown.append(each))
    assert shown == [(ONE + 1, ONE), (ONE + 1, ONE + 1)]


@pytest.mark.usefixtures("folder")
def test_what_does_not_come_and_what_comes_too_much():
    board = Scoreboard("o", 32)
    with pytest.raises(AssertionError, match=r"^o: 0 values compared, at least 1 must be$"):
        board.finish()
    board.finish(0)
    board.expect(7)
    assert board.pending == 1
    with pytest.raises(AssertionError, match=r"^o: 1 expected values never came \(0 compared\)$"):
        board.finish(0)
    board.got(7)
    board.finish()
    with pytest.raises(AssertionError, match=r"^o: 1 values compared, at least 2 must be$"):
        board.finish(2)
    with pytest.raises(AssertionError, match=r"^o: 0x8 came, and nothing more was expected \(1 compared\)$"):
        board.got(8)
    assert (board.compared, board.mismatches) == (1, 0)


def test_a_payload_of_fields_shows_the_first_that_differs(folder):
    """The context gets its path, after an empty one for the formats."""
    paths = []

    def context(path):
        paths.append(path)
        return mismatches.Shown(operands={"asked": path or "formats"}, formats={"b": FP32})

    board = Scoreboard("o", data.StructLayout({"a": 4, "b": 32, "c": 4}))
    board.compare(5 | ONE + 1 << 4 | 3 << 36, 5 | ONE << 4 | 2 << 36, context)
    assert paths == ["", "b"]
    assert mismatches.whole(folder)[0].splitlines()[1:] == [
        "  asked        b",
        "  field        b, and c",
        "  got          0x3f800001 = 1.00000012",
        "  expected     0x3f800000 = 1",
        "  distance     1 ulp",
    ]


@pytest.mark.parametrize(
    ("shape", "formats", "got", "expected", "found"),
    [
        (data.StructLayout({"a": 4, "b": 32}), {"": FP32, "a": E2M1}, ONE << 4, 0, [("b", ONE, 0, FP32)]),
        (data.StructLayout({"a": 4, "b": 32}), {"": FP32, "a": E2M1}, 1, 2, [("a", 1, 2, E2M1)]),
        (data.StructLayout({"a": 4}), {"ab": FP32}, 1, 2, [("a", 1, 2, Word(4))]),
        (64, {"": FP32}, ONE << 32 | 5, 7, [("0", 5, 7, FP32), ("1", ONE, 0, FP32)]),
        (data.StructLayout({"a": 48}), {"": FP32}, 1 << 32 | 5, 5, [("a.1", 1, 0, FP32)]),
        (40, {"": FP32}, ONE, 5, [("", ONE, 5, FP32)]),
        (24, {"": FP32}, 1, 2, [("", 1, 2, Word(24))]),
        (data.StructLayout({"a": 24}), {"": FP32}, 1, 2, [("a", 1, 2, Word(24))]),
        (data.StructLayout({"a": 4}), {}, 0x13, 0x23, [("", 0x13, 0x23, Word(6))]),
    ],
    ids=[
        "the format of all fields",
        "the format of the field",
        "a path that begins alike",
        "several codes",
        "the second code of a field",
        "zeros above a code",
        "fewer bits than the format",
        "a field of fewer bits than its format",
        "bits above all fields",
    ],
)
@pytest.mark.usefixtures("folder")
def test_differing_fields_and_their_formats(shape, formats, got, expected, found):
    assert mismatches.differences(shape, formats, got, expected) == [mismatches.Difference(*each) for each in found]


@pytest.mark.usefixtures("folder")
def test_the_command_that_explains():
    presets = {"first": SimpleNamespace(numerics=1), "second": SimpleNamespace(numerics=2)}
    line = mismatches.explain_line("aie_ml_v2", presets, 2, x_y="1", z=("a b", "c"), switch="", nothing=None)
    assert line == "bitpath explain aie_ml_v2 --x-y 1 --z 'a b' --z c --switch --preset second"
    assert mismatches.explain_line("aie_ml_v2", presets, 3) is None


def test_the_first_mismatch_names_its_test(folder):
    assert mismatches.first_test(folder) is None
    compared(2)
    assert mismatches.first_test(folder) == "sums"


@pytest.mark.usefixtures("folder")
def test_a_long_word_stays_whole():
    word = "x" * 200
    shown = mismatches.Shown(operands={"a": f"one {word}"})
    text = mismatches.full_text("sums", [mismatches.Difference("", 1, 2, Word(32))], shown)
    assert word in text


# The report of a failing bench: real benches on designs whose rounder truncates.


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


@pytest.mark.simulator
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
@pytest.mark.simulator
def test_the_explain_line_gives_the_expected_code(unit, mutant, tests, elsewhere, emitter_of):
    found = rows(failed(unit, "icarus", mutant, tests, emitter_of))
    code, _ = found["expected"].split(" = ")
    words = shlex.split(found["explain"])
    assert words[:2] == ["bitpath", "explain"]
    text = CliRunner().invoke(explain.explain_command, words[2:], catch_exceptions=False).output
    assert re.findall(r"^result +(0x\w+)", text, re.M)[-1] == code


@pytest.mark.simulator
def test_the_replay_line_repeats_the_mismatch_with_a_wave(elsewhere, emitter_of, monkeypatch):
    emitter = emitter_of(lambda name, config: find_unit(name).build(config))
    report = failed("element_map", "icarus", ELEMENTS, "random_tables", lambda _: emitter)
    line = report.splitlines()[-1].removeprefix("replay: ")
    # Make prints the commands that it would run.
    command = line.replace("make sim", f"make -n --no-print-directory -f {ROOT}/Makefile sim")
    printed = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout
    words = shlex.split(printed.splitlines()[-1])
    monkeypatch.setenv(*next(iter(CASES.items())))
    monkeypatch.setattr(building, "rtl_emitter", lambda: emitter)
    with mutated(*ELEMENTS), pytest.raises(SimulationError) as again:
        CliRunner().invoke(campaigns.test_sim_command, words[words.index("test-sim") + 1 :], catch_exceptions=False)
    assert report.splitlines()[1:3] == str(again.value).splitlines()[1:3]
    assert list(Path("build/runs").rglob("*.fst"))
