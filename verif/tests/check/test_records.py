"""The record of a checked design as JSON and as JUnit XML, from the files of runs that nobody simulated."""

import json
from xml.etree import ElementTree

import pytest

from bitpath.sim.engine import check
from bitpath.verif.kit import mismatches

RUN = {"config": {"a": 1}, "seed": 3, "tests": ["one", "two"], "failed": [], "skipped": ["three"], "wall_seconds": 1.5}
CASES = {"one": "", "two": "", "three": "<skipped/>"}
IDENTITY = {"unit": "dot16", "top": "my_dot"}


@pytest.fixture
def folder(tmp_path):
    """Return a function that makes the folder of a run with some mismatches, and the record of the run."""

    def make(wrong=0, replay=None, counts=None, counted=(4, 3), **run):
        (tmp_path / "run.json").write_text(json.dumps(RUN | run))
        if counted:
            lines = [json.dumps({"compared": count}) for count in counted]
            (tmp_path / "records.jsonl").write_text("\n".join(lines))
        for number in range(wrong):
            mismatches.note(tmp_path, f"{mismatches.FIRST}{number}", f"line {number}")
        return check.record(tmp_path, IDENTITY, replay, counts)

    return make


@pytest.fixture
def junit(tmp_path):
    """Return a function that writes JUnit XML of a record; it returns the suite, and by case its class and its failure."""

    def write(content, cases=CASES, message="first line\nsecond line"):
        if cases is not None:
            text = "".join(
                f'<testcase name="{name}" classname="bench">{inner}</testcase>' for name, inner in cases.items()
            )
            suite = f"<testsuite name='all'>{text}</testsuite>"
            (tmp_path / "results.xml").write_text(f"<testsuites name='results'>{suite}</testsuites>")
        path = tmp_path / "new" / "one" / "junit.xml"
        for _ in range(2):  # the second replaces the first
            check.write_junit(path, tmp_path, content, message)
        assert path.read_text().startswith("<?xml ")
        (suite,) = ElementTree.parse(path).getroot().iter("testsuite")
        found = {}
        for case in suite.iter("testcase"):
            failures = [*case.iter("failure"), *case.iter("error")]
            found[case.get("name")] = (case.get("classname"), [(each.get("message"), each.text) for each in failures])
        return suite.attrib, found

    return write


def test_a_run_that_passed(folder):
    assert folder() == {
        **IDENTITY,
        **RUN,
        "compared": 7,
        "mismatches": 0,
        "excepted": {},
        "passed": True,
        "first_mismatch": None,
        "replay": None,
    }


@pytest.mark.parametrize("wrong", [1, 2, 255, 256, 257])
def test_every_mismatch_counts(folder, wrong):
    found = folder(wrong, "bitpath check")
    assert (found["compared"], found["mismatches"], found["passed"]) == (7, wrong, False)
    assert (found["first_mismatch"], found["replay"]) == ("first mismatch: 0", "bitpath check")


def test_a_run_without_records(folder):
    found = folder(replay="bitpath check", counted=())
    assert (found["compared"], found["mismatches"], found["passed"]) == (0, 0, False)


@pytest.mark.parametrize(("wrong", "played", "total"), [(0, 0, 0), (0, 5, 5), (2, 1, 2), (1, 256, 256)])
def test_vectors_of_a_volume_count(folder, wrong, played, total):
    """Differing values are counted beyond the reported ones."""
    volume = {"vectors": 100, "mismatches": played, "seconds": 0.5}
    for found in (folder(wrong, counts=volume), folder(volume=volume)):
        assert (found["compared"], found["mismatches"], found["volume"]) == (107, total, volume)


def test_junit_of_a_run_that_passed(folder, junit):
    suite, cases = junit(folder())
    assert suite == {"name": "my_dot as dot16", "tests": "3", "failures": "0"}
    assert cases == dict.fromkeys(CASES, ("my_dot as dot16", []))


@pytest.mark.parametrize("kind", ["failure", "error"])
def test_junit_of_failed_tests_has_the_report(folder, junit, kind):
    said = f'<{kind} message="assert"/>'
    suite, cases = junit(folder(2, "bitpath check"), CASES | {"one": said, "two": said})
    assert suite == {"name": "my_dot as dot16", "tests": "3", "failures": "2"}
    failure = ("my_dot as dot16", [("assert", "first line\nsecond line")])
    assert cases == {"one": failure, "two": failure, "three": ("my_dot as dot16", [])}


@pytest.mark.parametrize("cases", [None, {}, CASES], ids=["no results", "no test", "tests that passed"])
def test_junit_of_a_run_that_failed_as_a_whole(folder, junit, cases):
    suite, found = junit(folder(replay="bitpath check"), cases)
    assert suite == {"name": "my_dot as dot16", "tests": str(1 + len(cases or ())), "failures": "1"}
    assert found.pop("run") == ("my_dot as dot16", [("first line", "first line\nsecond line")])
    assert found == dict.fromkeys(cases or (), ("my_dot as dot16", []))


def test_junit_of_damaged_results(folder, junit, tmp_path):
    content = folder(replay="bitpath check")
    (tmp_path / "results.xml").write_text("<testsuites><testsuite>")
    suite, found = junit(content, None)
    assert (suite["tests"], suite["failures"], list(found)) == ("1", "1", ["run"])


@pytest.mark.parametrize("wrong", [0, 1, 256])
def test_junit_has_a_case_of_the_volume(folder, junit, tmp_path, wrong):
    content = folder(
        replay="bitpath check" if wrong else None, counts={"vectors": 9, "mismatches": wrong, "seconds": 0.5}
    )
    suite, found = junit(content)
    assert suite == {"name": "my_dot as dot16", "tests": "4", "failures": str(int(wrong > 0))}
    failures = [("first line", "first line\nsecond line")] * (wrong > 0)
    assert found == dict.fromkeys(CASES, ("my_dot as dot16", [])) | {"volume": ("my_dot as dot16", failures)}
    assert 'time="0.5"' in (tmp_path / "new" / "one" / "junit.xml").read_text()
