"""Why a run failed, in a few lines: its mismatches, the messages of its other failed tests, or the end of its log."""

from pathlib import Path
from xml.etree import ElementTree

from bitpath.sim.engine import process
from bitpath.verif.kit import mismatches

SHOWN = 4
"""Failed tests that are named."""


def failure_text(folder: Path) -> str:
    """Return the report of a failed run: mismatches first; the end of the log if there is neither one nor a message."""
    report, messages = mismatches.report(folder), _messages(folder / "results.xml")
    if report:
        # A test that ended with its mismatches has nothing to add to them.
        messages = [message for message in messages if " mismatches in " not in message]
    lines = [line for line in (report, *messages[:SHOWN]) if line]
    return "\n".join(lines) or process.tail(folder / "run.log")


def first_failed(folder: Path, failed: list[str]) -> str | None:
    """Return the test with the first mismatch, or else the first of the failed ones; None if there is none."""
    return mismatches.first_test(folder) or next(iter(failed), None)


def named(tests: list[str]) -> str:
    """Return the names of failed tests as text, the first ones of many."""
    more = f" and {len(tests) - SHOWN} more" if len(tests) > SHOWN else ""
    return ", ".join(tests[:SHOWN]) + more


def _messages(results: Path) -> list[str]:
    """Return test, type and the message's first line of each failure; empty if the file is missing or damaged."""
    try:
        cases = ElementTree.parse(results).getroot().iter("testcase")
    except (FileNotFoundError, ElementTree.ParseError):
        return []
    return [
        f"{case.get('name')}: {failure.get('type')}: {_first_line(failure.get('message'))}"
        for case in cases
        for failure in (*case.iter("failure"), *case.iter("error"))
    ]


def _first_line(message: str | None) -> str:
    return next(iter((message or "").splitlines()), "")
