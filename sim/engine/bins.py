"""Functional bins that a unit's bench must hit in every run.

``UNIT.bins.json`` in the unit's folder below ``verif`` lists them: for each test, over all its parameters, and for each
stream. The list is valid for one configuration, named by its digest, and for one choice of tests.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bitpath.verif
from bitpath.rtl.common.files import write_whole
from bitpath.rtl.units import find_unit

VERIF = Path(bitpath.verif.__file__).parent
STREAMS = "streams"
"""Key of the events at streams, which belong to the whole bench."""
_WHERE_MET = ": back to back"
"""Event that units with several cycles a payload cannot have; it counts only if it has been hit."""


@dataclass(frozen=True)
class Bins:
    """Bins by test, without parameters: those declared, and those hit; a test hits only bins that it declares."""

    declared: Mapping[str, frozenset[str]]
    hit: Mapping[str, frozenset[str]]

    @property
    def total(self) -> int:
        return sum(map(len, self.declared.values()))

    @property
    def covered(self) -> int:
        return sum(map(len, self.hit.values()))

    @property
    def missing(self) -> list[str]:
        """Bins that were declared and not hit, each with its test."""
        return [
            f"{group}: {name}" for group, names in self.declared.items() for name in sorted(names - self.hit[group])
        ]


def gathered(tests: Iterable[str], records: Iterable[Mapping[str, Any]]) -> Bins:
    """Return the bins of a run from the records of its tests, sorted."""
    declared: dict[str, set[str]] = {STREAMS: set()}
    hit: dict[str, set[str]] = {STREAMS: set()}
    for test, record in zip(tests, records, strict=True):
        for group, counts in ((test.partition("/")[0], record["coverage"]), (STREAMS, record.get("streams", {}))):
            declared.setdefault(group, set()).update(
                name for name, count in counts.items() if count or not name.endswith(_WHERE_MET)
            )
            hit.setdefault(group, set()).update(bin_ for bin_, count in counts.items() if count)
    return Bins(*({group: frozenset(names) for group, names in found.items()} for found in (declared, hit)))


def folder_of(unit: str) -> Path:
    """Return the folder of a unit's verification."""
    return VERIF / find_unit(unit).room


def _file(unit: str, folder: Path | None) -> Path:
    return (folder or folder_of(unit)) / f"{unit}.bins.json"


def load(unit: str, folder: Path | None = None) -> dict[str, Any]:
    """Return a unit's list: digest, filter and tests; raise ValueError if it is missing or damaged."""
    file = _file(unit, folder)
    if not file.is_file():
        raise ValueError(f"{unit} has no list of bins; bitpath coverage {unit} --update writes it")
    try:
        found = json.loads(file.read_text())
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    if not isinstance(found, dict) or not found.keys() >= {"digest", "filter", "bins"}:
        raise ValueError(f"{file} is no list of bins; bitpath coverage {unit} --update writes it")
    return found


def save(unit: str, digest: str, filter_: str | None, bins: Bins, folder: Path | None = None) -> None:
    """Write a unit's list of the bins hit."""
    tests = {group: sorted(names) for group, names in sorted(bins.hit.items()) if names}
    file = _file(unit, folder)
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"unit": unit, "digest": digest, "filter": filter_, "bins": tests}, indent=1)
    write_whole(file, text + "\n")


def missing(unit: str, bins: Bins, folder: Path | None = None) -> list[str]:
    """Return the bins of the unit's list that the run did not hit."""
    if not _file(unit, folder).is_file():
        return []
    return [
        f"{group}: {name}"
        for group, names in load(unit, folder)["bins"].items()
        for name in names
        if name not in bins.hit.get(group, ())
    ]


def unlisted(unit: str, bins: Bins, folder: Path | None = None) -> list[str]:
    """Return the bins that the run hit and the unit's list lacks, so that no later run must hit them."""
    listed = load(unit, folder)["bins"] if _file(unit, folder).is_file() else {}
    return [
        f"{group}: {name}"
        for group, names in bins.hit.items()
        for name in sorted(names.difference(listed.get(group, ())))
    ]


def lost(unit: str, digest: str, filter_: str | None, bins: Bins, folder: Path | None = None) -> list[str]:
    """Return the missing bins; empty if the list belongs to another configuration or choice of tests."""
    if not _file(unit, folder).is_file():
        return []
    listed = load(unit, folder)
    same = (listed["digest"], listed["filter"]) == (digest, filter_)
    return missing(unit, bins, folder) if same else []
