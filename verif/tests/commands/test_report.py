"""``bitpath self report``: results by the names in testplans, records of earlier runs, and what ``bitpath run`` prints."""

import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from rich.console import Console

from bitpath.sim.campaigns.formal import Proof
from bitpath.sim.engine import paths, results
from bitpath.sim.engine.results import Result, write_records
from bitpath.sim.flows import outcome
from bitpath.sim.flows.outcome import Outcome
from bitpath.verif.formal.property import Property, Sabotage
from bitpath.verif.kit.testplan import Item, covers


def junit(cases, began="", file="test_psum"):
    """Return a JUnit file of tests by name, each with the element inside it."""
    lines = (
        f'<testcase classname="verif.tests.rtl.{file}" name="{name}">{inside}</testcase>'
        for name, inside in cases.items()
    )
    stamp = f'timestamp="{began}"' if began else ""
    return "\n".join([f"<testsuites><testsuite {stamp}>", *lines, "</testsuite></testsuites>"])


DOT = {"test_ties[1]": "", "test_ties[2]": "<failure/>", "test_kat": "<skipped/>"}
YEAR = 365 * 24 * 3600


def leave_run(name, failed, *, sim="icarus", age=0):
    folder = paths.runs() / "psum-00000000" / name
    folder.mkdir(parents=True)
    run = {"digest": "0" * 8, "sim": sim, "bench": "tb_psum", "tests": ["banks/n=2", "flags"], "failed": failed}
    run |= {"wall_seconds": 0.0, "values": {} if failed else {"banks/n=2": 30, "flags": 4}}
    file = folder / "run.json"
    file.write_text(json.dumps(run))
    os.utime(file, (time.time() + 60 - age,) * 2)
    return file


@pytest.fixture
def reports(elsewhere):
    paths.reports().mkdir(parents=True)
    return paths.reports()


def test_the_last_run_counts_and_the_worst_parameter(reports):
    leave_run("first", ["flags", "banks/n=2"])
    time.sleep(0.01)
    leave_run("second", ["banks/n=2"])
    leave_run("third", [], sim="verilator")
    (reports / "test.xml").write_text(junit(DOT, file="test_dot"))
    latest = results.latest_results()
    assert latest.tests == {
        "tb_psum::banks": Result(results.FAILED, 2, 30),
        "tb_psum::flags": Result(results.PASSED, 2, 4),
        "tests/rtl/test_dot.py::test_ties": Result(results.FAILED, 2),
        "tests/rtl/test_dot.py::test_kat": Result(results.SKIPPED),
    }
    found = latest.of(Item("psum", "a", "b", "c", ("tb_psum::flags", "tb_psum::nosuch")))
    assert [result.status for result in found.values()] == [results.PASSED, results.MISSING]
    assert results.over(found) == Result(results.MISSING, 2, 4)


@covers("robustness.stale", "A stale result that counts as fresh goes unnoticed")
def test_a_stale_result_does_not_count(reports):
    """Results older than the sources do not count; builds are repeated if a dependency changes."""
    leave_run("old", [], age=YEAR)
    assert results.latest_results().tests["tb_psum::flags"] == Result(results.STALE)
    leave_run("new", [], sim="verilator")
    assert results.latest_results().tests["tb_psum::flags"] == Result(results.PASSED, 1, 4)
    (reports / "test.xml").write_text(junit(DOT, "2020-01-01T00:00:00", "test_dot"))
    assert results.latest_results().tests["tests/rtl/test_dot.py::test_kat"].status == results.STALE


def test_the_newest_of_two_files_counts(reports):
    (reports / "test.xml").write_text(junit({"test_a[1]": "<failure/>"}, "2100-01-01T00:00:00"))
    (reports / "test-fast.xml").write_text(junit({"test_a[1]": ""}, "2100-01-02T00:00:00"))
    assert results.latest_results().tests == {"tests/rtl/test_psum.py::test_a": Result(results.PASSED)}


@covers("robustness.stale")
def test_a_parameter_that_is_stale_or_was_left_out_counts(reports):
    test = "tests/rtl/test_psum.py::test_a"
    (reports / "test.xml").write_text(junit({"test_a[1]": ""}, "2100-01-01T00:00:00"))
    left_out = reports / f"test{results.LEFT_OUT}"
    left_out.write_text(f"verif/{test}[large/2]\n")
    os.utime(left_out, (time.time() + 60,) * 2)
    assert results.latest_results().tests == {test: Result(results.MISSING)}
    (reports / "test-deep.xml").write_text(junit({"test_a[large/2]": ""}, "2020-01-01T00:00:00"))
    assert results.latest_results().tests == {test: Result(results.STALE, 2)}
    (reports / "test-deep.xml").write_text(junit({"test_a[large/2]": ""}, "2100-01-01T00:00:00"))
    assert results.latest_results().tests == {test: Result(results.PASSED, 2)}


def test_a_run_names_the_tests_that_it_leaves_out(tmp_path):
    file = tmp_path / "test_some.py"
    file.write_text("import pytest\n\n@pytest.mark.parametrize('n', [1, 2])\ndef test_some(n):\n    pass\n")
    hooks = Path(__file__).parents[2] / "conftest.py"
    (tmp_path / "conftest.py").write_text(hooks.read_text())
    command = [sys.executable, "-m", "pytest", "-n", "2", "-k", "1", "--junitxml=reports/test.xml", "."]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "reports" / f"test{results.LEFT_OUT}").read_text() == "test_some.py::test_some[2]\n"


@covers("robustness.files")
@pytest.mark.parametrize("text", ["[]", "{}", '{"digest": "0", "tests": 3}', "7"])
def test_a_summary_of_another_form_is_not_read(reports, text):
    run = leave_run("other", [])
    run.write_text(text)
    assert results.latest_results() == results.Results({}, (run,))


@covers("robustness.files")
@pytest.mark.parametrize(
    "text", ["[1]", *(pytest.param(each, marks=pytest.mark.deep) for each in ("{}", "null", '["a"]'))]
)
def test_a_report_of_another_form_is_not_read(reports, bitpath, text):
    (reports / "formal.json").write_text(text)
    status, out, err = bitpath("report")
    assert (status, err) == (0, "")
    assert "formal.json is not whole; nothing was taken from it" in " ".join(out.split())


@covers("robustness.stale")
def test_a_stale_record_is_shown_separately(reports, bitpath, monkeypatch):
    new = {"unit": "psum", "vectors": 1000, "mismatches": 0, "began": time.time() + 60}
    write_records(reports / "deep.json", [new, {**new, "vectors": 7, "began": 1.0}])
    write_records(reports / "mutation.json", [{"unit": "psum", "mutants": 9, "killed": 9, "equivalent": 0}])
    os.utime(reports / "mutation.json", (1, 1))
    monkeypatch.setenv("COLUMNS", "200")
    _, out, _ = bitpath("report")
    (row,) = [line for line in out.splitlines() if " psum " in line and "vectors" in line]
    assert "1,000 vectors" in row
    assert "9 of 9 killed" not in out
    for name in ("deep", "mutation"):
        assert f"{name}: {results.STALE}" in out


@covers("robustness.files")
def test_a_damaged_file_is_reported_and_not_read(reports, bitpath):
    run = leave_run("cut", [])
    os.truncate(run, 20)
    (reports / "test.xml").write_text(junit(DOT)[:-20])
    (reports / "formal.json").write_text('[{"property": "half')
    status, out, err = bitpath("report")
    assert (status, err) == (0, "")
    for name in ("run.json", "test.xml", "formal.json"):
        assert f"{name} is not whole; nothing was taken from it" in " ".join(out.split())
    assert {record["status"] for record in json.loads((reports / "report.json").read_text())} == {results.MISSING}


@pytest.mark.parametrize("broken", [False, True])
def test_an_item_without_a_passing_test_is_red(reports, bitpath, monkeypatch, broken):
    items = [Item("psum", name, "what", "why", (f"tests/rtl/test_psum.py::test_{name}",)) for name in "abc"]
    monkeypatch.setattr("bitpath.sim.commands.measures.load_plans", lambda: items)
    file = reports / "test.xml"
    file.write_text(junit({f"test_{name}[1]": "<failure/>" if broken and name == "a" else "" for name in "abc"}))
    os.utime(file, (time.time() + 60,) * 2)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    status, out, _ = bitpath("report", "--strict")
    assert status == int(broken)
    assert ("\x1b[1;31mfailed" in out) == broken
    assert f"testplan items: {3 - broken} of 3 passed" in out
    assert bitpath("report")[0] == 0


def test_a_pipe_gets_whole_rows_and_a_terminal_a_table_that_fits(reports, bitpath, monkeypatch):
    what = "a sentence that is longer than the eighty columns of a terminal, and that nobody may cut or fold"
    items = [Item("psum", "banks", what, "why", ("tests/rtl/test_psum.py::test_a",))]
    monkeypatch.setattr("bitpath.sim.commands.measures.load_plans", lambda: items)
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = bitpath("report")
    assert f"| psum | banks | {what} | 1 | 0 | 0 | not run |" in out.splitlines()
    assert "testplan items: not run" in out
    monkeypatch.setenv("FORCE_COLOR", "1")
    _, out, _ = bitpath("report")
    table = [line for line in re.sub(r"\x1b\[[0-9;]*m", "", out).splitlines() if line.startswith("│")]
    assert table
    assert {len(line) for line in table} <= set(range(81))


def test_results_of_other_commands_are_shown_with_the_plans(reports, bitpath, monkeypatch):
    proved = Property(
        "a", "trainium3.psum", "says", state=lambda claim: None, sabotage=Sabotage("trainium3/array/psum.py", "a", "b")
    )
    found = {
        "mutation": {"unit": "psum", "mutants": 200, "killed": 184, "equivalent": 16, "survived": 0},
        "formal": Proof(proved, *({"status": status, "seconds": 1.0} for status in ("proved", "refuted")), "").record(),
        "coverage": {"unit": "psum", "functional_percent": 100.0, "line_percent": 99.5, "toggle_percent": 98.25},
        "deep": {"unit": "psum", "vectors": 1000000, "mismatches": 0},
    }
    for name, record in found.items():
        write_records(reports / f"{name}.json", [record])
    monkeypatch.setenv("COLUMNS", "200")
    _, out, _ = bitpath("report")
    (row,) = [line for line in out.splitlines() if " psum " in line and "killed" in line]
    for text in ("184 of 184 killed", "1 of 1 proved", "100/99.5/98.25 %", "1,000,000 vectors, 0 mismatches"):
        assert text in row


# Reports keep the records of earlier runs on other items.


@pytest.fixture
def file(tmp_path):
    return tmp_path / "reports" / "some.json"


def test_new_records_are_added_to_the_others(file):
    assert results.merge([{"name": "a", "value": 1}, {"name": "b", "value": 2}], file)
    found = results.merge([{"name": "a", "value": 3}], file)
    assert found == json.loads(file.read_text()) == [{"name": "b", "value": 2}, {"name": "a", "value": 3}]


def test_records_are_distinguished_by_their_key(file):
    results.merge([{"unit": "dot16", "name": "a"}], file, "unit")
    assert len(results.merge([{"unit": "ups", "name": "a"}], file, "unit")) == 2


def test_unneeded_files_are_removed(file):
    results.merge([{"name": "old", "began": 5.0}, {"name": "new", "began": 7.0}, {"name": "undated"}], file)
    assert [each["name"] for each in results.merge([], file, keep=results.began_since(6.0))] == ["new"]


@covers("robustness.files")
@pytest.mark.parametrize("text", ['[{"name": "cut', "{}", "3", ""])
def test_a_damaged_report_is_written_anew(file, text):
    file.parent.mkdir()
    file.write_text(text)
    assert results.merge([{"name": "a"}], file) == json.loads(file.read_text()) == [{"name": "a"}]


def test_damaged_records_are_left_out(file):
    file.parent.mkdir()
    file.write_text('[3, {"value": 1}, {"name": "whole"}]')
    assert results.merge([], file) == [{"name": "whole"}]


@covers("robustness.two")
def test_of_two_that_write_at_once_both_stay(file):
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda name: results.merge([{"name": name}], file), range(40)))
    assert sorted(record["name"] for record in json.loads(file.read_text())) == list(range(40))


# Output of ``bitpath run`` for a record, to the blank, and the file of its results.


FULL = {
    "machine": "aie_ml_v2",
    "format": "fp8_e4m3fnuz",
    "sim": "verilator",
    "quantized_compared": 123456789,
    "staged_compared": 123456789,
    "outputs_compared": 12345678,
    "mismatches": 1234567890,
    "sqnr_db": None,
    "max_rel_error": 0.0123456,
    "cycles": 1234567,
    "time_us": 12345.6,
    "mac_per_cycle": 123456.78,
    "peak_mac_per_cycle": 1234567,
    "elements_per_cycle": 123456.789012,
    "wall_seconds": 12345.6,
}
"""A record whose every field fills its column."""
HEADING = (
    "machine   format         simulator quantized in stages compared mismatches SQNR dB max error  cycles      us MAC/cycle"
    "    peak elements/cycle seconds"
)
ROW = (
    "aie_ml_v2 fp8_e4m3fnuz   verilator 123456789 123456789 12345678 1234567890       - 0.0123456 1234567 12345.6 123456.78"
    " 1234567  123456.789012 12345.6"
)
STAGES = [{"name": "a", "cycles": 1, "share_of": None}, {"name": "bb", "cycles": 22, "share_of": 0.5}]
TABLE = ["", "stages", "name  cycles  share of", "a          1         -", "bb        22       0.5"]


def shown(record, *, first):
    console = Console(file=StringIO(), width=160)
    outcome.show(console, record, first=first)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_rows_stand_below_one_heading():
    assert shown(FULL, first=True) == [HEADING, ROW]
    assert shown(FULL, first=False) == [ROW]


@pytest.mark.parametrize("name", outcome.TABLES)
def test_a_table_follows_its_record_and_the_next_row_has_a_heading(name):
    table = [name if line == "stages" else line for line in TABLE]
    for first in (True, False):
        assert shown(FULL | {name: STAGES}, first=first) == [HEADING, ROW, *table]
    assert shown(FULL | {name: []}, first=False) == [ROW]


def test_a_format_has_its_scale_rule_unless_it_is_the_default():
    record = {"machine": "tensix", "format": "bf16", "mismatches": 0}
    for rule, name in (("nki05", "bf16 nki05"), ("ocp", "bf16"), (None, "bf16")):
        _, row = shown(record | {"config": {"scale_rule": rule}}, first=True)
        assert row == f"tensix    {name:14}          0"


def test_without_a_terminal_no_table_is_squeezed():
    assert outcome.console().width == outcome.WIDTH
    assert not outcome.console().quiet
    assert outcome.console(quiet=True).quiet


@pytest.mark.parametrize(
    ("dtype", "kept"), [(np.uint32, np.uint32), (np.float16, np.float16), (ml_dtypes.bfloat16, np.float32)]
)
def test_results_are_saved_in_a_dtype_that_numpy_reads(tmp_path, dtype, kept):
    rtl, golden = np.array([[1, 2]], dtype), np.array([[1, 3]], dtype)
    outcome.save(tmp_path / "out.npz", Outcome(rtl, golden, {}))
    with np.load(tmp_path / "out.npz") as found:
        assert (found["result"].dtype, found["golden"].dtype) == (kept, kept)
        assert (found["result"].tolist(), found["golden"].tolist()) == ([[1, 2]], [[1, 3]])


def test_a_time_has_its_cycle():
    assert [outcome.moment_text(time) for time in (635_000, 639_999, 640_000)] == [
        "at 635 ns, cycle 63",
        "at 639.999 ns, cycle 63",
        "at 640 ns, cycle 64",
    ]
