"""Results of earlier runs: the last one of each test, and reports, which are lists of flat records."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from itertools import groupby
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import bitpath.golden
import bitpath.rtl
import bitpath.sim
import bitpath.verif
from bitpath.rtl.common.files import write_whole
from bitpath.sim.engine import paths
from bitpath.verif.kit.testplan import Item

# Last result of every test: from JUnit files of pytest, and from the run summaries of cocotb benches.
#
# Results that began before the newest source was written are ignored, as damaged files are. A test has passed if it
# passed with each of its parameters, including those that the last run left out.


PASSED, FAILED, SKIPPED, MISSING, STALE = "passed", "failed", "skipped", "not run", "older than the sources"
_WORST_FIRST = (FAILED, MISSING, STALE, SKIPPED, PASSED)
_SOURCES = {".py", ".toml", ".cpp", ".json", ".npz"}
LEFT_OUT = ".left_out"
"""Suffix of the file beside a JUnit file that lists the tests that the run did not select."""
_RUN: dict[str, type | tuple[type, ...]] = {
    "digest": str,
    "sim": str,
    "bench": str,
    "wall_seconds": (int, float),
    "tests": list,
    "failed": list,
    "values": dict,
}
"""Fields of a run summary and their types."""
Records = list[dict[str, Any]]


@dataclass(frozen=True)
class Result:
    """Last result of a test, over all its parameters and configurations.

    It has the worst status, the number of runs, and the number of values that scoreboards compared.
    """

    status: str
    runs: int = 1
    compared: int = 0

    def joined(self, other: "Result") -> "Result":
        """Return both results as one."""
        worst = min(self.status, other.status, key=_WORST_FIRST.index)
        return Result(worst, self.runs + other.runs, self.compared + other.compared)


@dataclass(frozen=True)
class _Case:
    """One test: its names in testplans and with parameters, and its start in seconds of the epoch."""

    test: str
    name: str
    began: float
    result: Result
    configuration: tuple[str, ...] = ()


@dataclass(frozen=True)
class Results:
    """Results of all tests by name as in testplans, and the damaged files, which were ignored."""

    tests: dict[str, Result]
    damaged: tuple[Path, ...]

    def of(self, item: Item) -> dict[str, Result]:
        """Return the result of each test of a testplan item."""
        return {test: self.tests.get(test, Result(MISSING, 0)) for test in item.tests}


def latest_results() -> Results:
    """Return the last result of every test."""
    damaged: list[Path] = []
    newest = newest_source()
    latest: dict[tuple[Any, ...], _Case] = {}
    for case in sorted((*_cocotb(damaged), *_pytest(damaged)), key=lambda case: case.began):
        latest[case.test, case.name, case.configuration] = case
    found: dict[str, Result] = {}
    for (test, _), group in groupby(sorted(latest.values(), key=_named), _named):
        cases = list(group)
        # If the sources are newer than only some results, the others count.
        fresh = [case.result for case in cases if case.began >= newest]
        result = reduce(Result.joined, fresh or [Result(STALE, case.result.runs) for case in cases])
        found[test] = found[test].joined(result) if test in found else result
    known = {name for _, name, _ in latest}
    for test, name in _left_out(newest):
        if name not in known:
            found[test] = found.get(test, Result(MISSING, 0)).joined(Result(MISSING, 0))
    return Results(found, tuple(damaged))


def _named(case: _Case) -> tuple[str, str]:
    return case.test, case.name


def over(results: dict[str, Result]) -> Result:
    """Return the result of a testplan item: the worst of its tests, and their totals."""
    return reduce(Result.joined, results.values())


def newest_source() -> float:
    """Return the modification time of the newest source, in seconds of the epoch."""
    packages = (bitpath.golden, bitpath.rtl, bitpath.sim, bitpath.verif)
    files = (file for package in packages for file in Path(str(package.__file__)).parent.rglob("*"))
    return max(file.stat().st_mtime for file in files if file.suffix in _SOURCES)


def _pytest(damaged: list[Path]) -> Iterator[_Case]:
    for file in sorted(paths.reports().glob("test*.xml")):
        try:
            root = ElementTree.parse(file).getroot()
        except ElementTree.ParseError:
            damaged.append(file)
            continue
        for suite in root.iter("testsuite"):
            stamp = suite.get("timestamp")
            began = datetime.fromisoformat(stamp).timestamp() if stamp else file.stat().st_mtime
            for case in suite.iter("testcase"):
                folder = str(case.get("classname")).removeprefix("verif.").replace(".", "/")
                name = f"{folder}.py::{case.get('name')}"
                yield _Case(_without_parameters(name), name, began, Result(case_status(case)))


def _left_out(newest: float) -> Iterator[tuple[str, str]]:
    """Return the tests that the last runs did not select, by name as in testplans, with parameters."""
    for file in paths.reports().glob(f"test*{LEFT_OUT}"):
        if file.stat().st_mtime >= newest:
            for line in file.read_text().splitlines():
                name = line.removeprefix("verif/")
                yield _without_parameters(name), name


def _without_parameters(name: str) -> str:
    return re.sub(r"\[.*", "", name)


def case_status(case: ElementTree.Element) -> str:
    """Return the status of a test case in a JUnit file."""
    if case.find("failure") is not None or case.find("error") is not None:
        return FAILED
    return SKIPPED if case.find("skipped") is not None else PASSED


def _cocotb(damaged: list[Path]) -> Iterator[_Case]:
    """Return the runs of each unit, configuration, simulator and test."""
    for summary in sorted(paths.runs().glob("*/*/run.json")):
        run = read_json(summary, damaged)
        if run is None:
            continue
        if not _is_run(run):
            damaged.append(summary)
            continue
        began = summary.stat().st_mtime - run["wall_seconds"]
        for test in run["tests"]:
            status = FAILED if test in run["failed"] else PASSED
            result = Result(status, compared=run["values"].get(test, 0))
            bench = run["bench"]
            yield _Case(
                f"{bench}::{test.partition('/')[0]}", f"{bench}::{test}", began, result, (run["digest"], run["sim"])
            )


def _is_run(run: Any) -> bool:
    fields = isinstance(run, dict) and all(isinstance(run.get(name), kind) for name, kind in _RUN.items())
    return (
        fields
        and all(isinstance(test, str) for test in run["tests"])
        and all(isinstance(value, int) for value in run["values"].values())
    )


def read_json(file: Path, damaged: list[Path]) -> Any:
    """Return the value in a JSON file; None, and the file added to ``damaged``, if it is not whole."""
    try:
        found = json.loads(file.read_text())
    except ValueError:
        found = None
    if found is None:
        damaged.append(file)
    return found


def run_reports(damaged: list[Path]) -> tuple[dict[str, Records], dict[str, Records]]:
    """Return every report of a command by name: the current records, and those older than the sources.

    Names of damaged reports are added to ``damaged``.
    """
    newest = newest_source()
    fresh: dict[str, Records] = {}
    stale: dict[str, Records] = {}
    for file in sorted(paths.reports().glob("*.json")):
        records = read_json(file, damaged)
        if records is None:
            continue
        if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
            damaged.append(file)
            continue
        written = file.stat().st_mtime
        for record in records:
            began = record.get("began", written)
            kept = fresh if isinstance(began, int | float) and began >= newest else stale
            kept.setdefault(file.stem, []).append(record)
    return fresh, stale


# Reports: lists of flat records, written atomically, and merged with those of earlier runs.


Record = Mapping[str, Any]


def write_records(path: Path, records: Sequence[Record]) -> None:
    """Write the records as JSON, atomically: a reader sees the old or the new file, never a partial one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(list(records), indent=2) + "\n")


def merge(
    records: Sequence[Record], path: Path, key: str = "name", keep: Callable[[Record], bool] = lambda record: True
) -> list[Record]:
    """Write the records together with the existing ones and return all; a new record replaces the one with the same ``key``.

    Of two concurrent runs, the second keeps the records of the first. Damaged records are dropped.

    Parameters
    ----------
    keep : returns True if an existing record stays.
    """
    from filelock import FileLock

    path.parent.mkdir(parents=True, exist_ok=True)
    new = {record[key] for record in records}
    with FileLock(f"{path}.lock"):
        before = [each for each in _whole(path, key) if each[key] not in new and keep(each)]
        write_records(path, [*before, *records])
    return [*before, *records]


def began_since(since: float) -> Callable[[Record], bool]:
    """Return True if the run of a record began at that time, in seconds of the epoch, or later."""
    return lambda record: record.get("began", 0.0) >= since


def _whole(path: Path, key: str) -> list[Record]:
    """Return the records of a report; empty if the report is missing or damaged."""
    try:
        found = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return []
    return [record for record in found if isinstance(record, dict) and key in record] if isinstance(found, list) else []
