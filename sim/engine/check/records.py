"""Outcome of a checked design as JSON and as JUnit XML."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from bitpath.rtl.common.files import write_whole
from bitpath.verif.kit import mismatches


def record(
    folder: Path, identity: Mapping[str, Any], replay: str | None, volume: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the record of a finished run: its identity, its comparisons, and its first mismatch.

    Parameters
    ----------
    folder : of the run.
    identity : names and files of unit and design.
    replay : command that replays a failure; None after a run that passed.
    volume : counts of vectors played and of those that differ, which the totals include; None without any, or if the run has
        left them itself.
    """
    run = json.loads((folder / "run.json").read_text())
    file = folder / "records.jsonl"
    counted = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    first, further = mismatches.whole(folder)
    known, played = len(further) + bool(first), dict(volume or run.get("volume") or {})
    return {
        **identity,
        **{key: run[key] for key in ("config", "seed", "tests", "failed", "skipped", "wall_seconds")},
        # A test that stops early leaves no count; then the reported mismatches are those that are known.
        "compared": sum(each["compared"] for each in counted) + played.get("vectors", 0),
        # Vectors that differ are counted beyond those that are reported.
        "mismatches": max(known, played.get("mismatches", 0)),
        **({"volume": played} if played else {}),
        "passed": replay is None,
        "first_mismatch": first or None,
        "replay": replay,
    }


def write_junit(path: Path, folder: Path, content: Mapping[str, Any], message: str) -> None:
    """Write the run's test cases under the design's name; failed ones have the report of the run.

    A run that ended without results, or failed as a whole, is one failed case.
    """
    try:
        root = ElementTree.parse(folder / "results.xml").getroot()
    except (FileNotFoundError, ElementTree.ParseError):
        root = ElementTree.Element("testsuites")
    suites = list(root.iter("testsuite")) or [ElementTree.SubElement(root, "testsuite")]
    name = f"{content['top']} as {content['unit']}"
    for suite in suites:
        suite.set("name", name)
    if "volume" in content:
        case = ElementTree.SubElement(suites[0], "testcase", name="volume", time=str(content["volume"]["seconds"]))
        if content["volume"]["mismatches"]:
            ElementTree.SubElement(case, "failure", message=message.splitlines()[0])
    for case in root.iter("testcase"):
        case.set("classname", name)
    failures = [*root.iter("failure"), *root.iter("error")]
    if not failures and not content["passed"]:
        case = ElementTree.SubElement(suites[0], "testcase", name="run", classname=name)
        failures = [ElementTree.SubElement(case, "failure", message=message.splitlines()[0])]
    for failure in failures:
        failure.text = message
    suites[0].set("tests", str(len(list(root.iter("testcase")))))
    suites[0].set("failures", str(len(failures)))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n")
