"""The last result of every test: pytest's from its JUnit files, cocotb's from the runs' summaries."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from bitpath.sim import paths
from bitpath.verif.kit.testplan import Item

PASSED, FAILED, SKIPPED, MISSING = "passed", "failed", "skipped", "not run"
_WORST_FIRST = (FAILED, MISSING, SKIPPED, PASSED)


@dataclass(frozen=True)
class Outcome:
    """How a test of a plan went the last time, over all its parameters."""

    test: str
    status: str


def latest_results() -> dict[str, str]:
    """Status by test, in the names that testplans use."""
    results: dict[str, str] = {}
    for source in (*_cocotb(), *_pytest()):
        test, status = source
        # Parameters and configurations are one test of a plan: the worst of them counts.
        previous = results.get(test, PASSED)
        results[test] = min(previous, status, key=_WORST_FIRST.index)
    return results


def _pytest() -> Iterator[tuple[str, str]]:
    for file in sorted(paths.reports().glob("test*.xml")):
        for case in ElementTree.parse(file).getroot().iter("testcase"):
            folder = str(case.get("classname")).removeprefix("verif.").replace(".", "/")
            name = re.sub(r"\[.*", "", str(case.get("name")))
            yield f"{folder}.py::{name}", _status(case)


def _status(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return FAILED
    return SKIPPED if case.find("skipped") is not None else PASSED


def _cocotb() -> Iterator[tuple[str, str]]:
    """The newest run of each unit, configuration, simulator and test."""
    newest: dict[tuple[Any, ...], tuple[str, str]] = {}
    for summary in sorted(paths.runs().glob("*/*/run.json"), key=lambda file: file.stat().st_mtime_ns):
        run = json.loads(summary.read_text())
        for test in run["tests"]:
            name = f"{run['bench']}::{test.partition('/')[0]}"
            status = FAILED if test in run["failed"] else PASSED
            newest[run["digest"], run["sim"], run["bench"], test] = (name, status)
    yield from newest.values()


def outcomes(item: Item, results: dict[str, str]) -> list[Outcome]:
    """How each test of a plan's item went."""
    return [Outcome(test, results.get(test, MISSING)) for test in item.tests]


def worst(found: list[Outcome]) -> str:
    """The item's own status."""
    return min((outcome.status for outcome in found), key=_WORST_FIRST.index)


def run_reports() -> dict[Path, list[dict[str, Any]]]:
    """Every report that a flow left."""
    return {file: json.loads(file.read_text()) for file in sorted(paths.reports().glob("*.json"))}
