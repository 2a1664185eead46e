"""The last result of every test: pytest's from its JUnit files, cocotb's from the runs' summaries.

A result that began before the newest source was written says nothing of what stands there now, and a file that is not whole
says nothing at all.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import bitpath.golden
import bitpath.rtl
import bitpath.verif
from bitpath.sim import paths
from bitpath.verif.kit.testplan import Item

PASSED, FAILED, SKIPPED, MISSING, STALE = "passed", "failed", "skipped", "not run", "older than the sources"
_WORST_FIRST = (FAILED, MISSING, STALE, SKIPPED, PASSED)
_SOURCES = {".py", ".toml"}


@dataclass(frozen=True)
class Result:
    """How a test went the last time, over all its parameters and configurations.

    Attributes
    ----------
    status : the worst of them.
    runs : how many they are.
    compared : values that their scoreboards compared.
    """

    status: str
    runs: int = 1
    compared: int = 0

    def joined(self, other: "Result") -> "Result":
        """Both as one; where the sources are newer than one of the two alone, the other counts."""
        if (self.status == STALE) != (other.status == STALE):
            return other if self.status == STALE else self
        worst = min(self.status, other.status, key=_WORST_FIRST.index)
        return Result(worst, self.runs + other.runs, self.compared + other.compared)


@dataclass(frozen=True)
class Results:
    """All that is known.

    Attributes
    ----------
    tests : results by test, in the names that testplans use.
    damaged : files that are not whole, of which nothing was taken.
    """

    tests: dict[str, Result]
    damaged: tuple[Path, ...]

    def of(self, item: Item) -> dict[str, Result]:
        """How each test of a plan's item went."""
        return {test: self.tests.get(test, Result(MISSING, 0)) for test in item.tests}


def latest_results() -> Results:
    """The last result of every test."""
    damaged: list[Path] = []
    newest = _newest_source()
    found: dict[str, Result] = {}
    for test, began, result in (*_cocotb(damaged), *_pytest(damaged)):
        shown = result if began >= newest else Result(STALE, result.runs, 0)
        found[test] = found[test].joined(shown) if test in found else shown
    return Results(found, tuple(damaged))


def over(results: dict[str, Result]) -> Result:
    """Of an item of a plan: the worst of its tests, and what they did in all."""
    worst = min((result.status for result in results.values()), key=_WORST_FIRST.index)
    return Result(worst, sum(each.runs for each in results.values()), sum(each.compared for each in results.values()))


def _newest_source() -> float:
    folders = (Path(package.__file__).parent for package in (bitpath.golden, bitpath.rtl, bitpath.verif))
    files = (file for folder in folders for file in folder.rglob("*") if file.suffix in _SOURCES)
    return reduce(max, (file.stat().st_mtime for file in files))


def _pytest(damaged: list[Path]) -> Iterator[tuple[str, float, Result]]:
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
                name = re.sub(r"\[.*", "", str(case.get("name")))
                yield f"{folder}.py::{name}", began, Result(_status(case))


def _status(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return FAILED
    return SKIPPED if case.find("skipped") is not None else PASSED


def _cocotb(damaged: list[Path]) -> Iterator[tuple[str, float, Result]]:
    """The newest run of each unit, configuration, simulator and test."""
    newest: dict[tuple[Any, ...], tuple[str, float, Result]] = {}
    for summary in sorted(paths.runs().glob("*/*/run.json"), key=lambda file: file.stat().st_mtime_ns):
        run = _read_json(summary, damaged)
        if run is None:
            continue
        began = summary.stat().st_mtime - run["wall_seconds"]
        for test in run["tests"]:
            name = f"{run['bench']}::{test.partition('/')[0]}"
            status = FAILED if test in run["failed"] else PASSED
            result = Result(status, compared=run.get("values", {}).get(test, 0))
            newest[run["digest"], run["sim"], run["bench"], test] = (name, began, result)
    yield from newest.values()


def _read_json(file: Path, damaged: list[Path]) -> Any:
    try:
        return json.loads(file.read_text())
    except ValueError:
        damaged.append(file)
        return None


def run_reports(damaged: list[Path]) -> dict[str, list[dict[str, Any]]]:
    """Every report that a command left, by name; those that are not whole are added to ``damaged``."""
    found = {file.stem: _read_json(file, damaged) for file in sorted(paths.reports().glob("*.json"))}
    return {name: records for name, records in found.items() if isinstance(records, list)}
