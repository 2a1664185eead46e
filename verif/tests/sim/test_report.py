"""Results find their way into the report by the names that testplans use."""

import json

from bitpath.sim import paths, results
from bitpath.verif.kit.report import write_records
from bitpath.verif.kit.testplan import Item

JUNIT = """<testsuites><testsuite>
<testcase classname="verif.tests.rtl.test_dot" name="test_ties[1]"/>
<testcase classname="verif.tests.rtl.test_dot" name="test_ties[2]"><failure/></testcase>
<testcase classname="verif.tests.rtl.test_dot" name="test_kat"><skipped/></testcase>
</testsuite></testsuites>"""


def leave_run(name, failed):
    folder = paths.runs() / "psum-00000000" / name
    folder.mkdir(parents=True)
    run = {"digest": "0" * 8, "sim": "icarus", "bench": "tb_psum", "tests": ["banks/n=2", "flags"], "failed": failed}
    (folder / "run.json").write_text(json.dumps(run))


def test_the_last_run_counts_and_the_worst_parameter(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    leave_run("first", ["flags", "banks/n=2"])
    leave_run("second", ["banks/n=2"])
    paths.reports().mkdir(parents=True)
    (paths.reports() / "test.xml").write_text(JUNIT)
    latest = results.latest_results()
    assert latest == {
        "tb_psum::banks": results.FAILED,
        "tb_psum::flags": results.PASSED,
        "tests/rtl/test_dot.py::test_ties": results.FAILED,
        "tests/rtl/test_dot.py::test_kat": results.SKIPPED,
    }
    item = Item("psum", "a", "b", "c", ("tb_psum::flags", "tb_psum::nosuch"))
    found = results.outcomes(item, latest)
    assert [outcome.status for outcome in found] == [results.PASSED, results.MISSING]
    assert results.worst(found) == results.MISSING


def test_records_are_written_whole(tmp_path):
    path = tmp_path / "reports" / "run.json"
    write_records(path, [{"a": 1}])
    assert json.loads(path.read_text()) == [{"a": 1}]
    assert [file.name for file in path.parent.iterdir()] == ["run.json"]
