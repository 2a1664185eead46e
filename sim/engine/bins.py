"""Functional bins that a unit's bench has hit once, and must hit ever after.

``UNIT.bins.json`` in the unit's folder below ``verif`` lists them: of each test, over all its parameters, and what each stream met. They belong to one
configuration, which it names by its digest, and to one choice of tests.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bitpath.verif
from bitpath.rtl.units import find_unit
from bitpath.verif.kit.report import write_whole

VERIF = Path(bitpath.verif.__file__).parent
STREAMS = "streams"
"""Under which the events at streams stand, which are of the whole bench."""
_WHERE_MET = ": back to back"
"""The event that some units cannot have, since they take several cycles for a payload: it counts where it has been met."""


@dataclass(frozen=True)
class Bins:
    """Bins by test, without parameters.

    Attributes
    ----------
    declared, hit : names; a test has hit at most what it declared.
    """

    declared: Mapping[str, frozenset[str]]
    hit: Mapping[str, frozenset[str]]

    @property
    def total(self) -> int:
        """How many there are."""
        return sum(map(len, self.declared.values()))

    @property
    def covered(self) -> int:
        """How many were hit."""
        return sum(map(len, self.hit.values()))

    @property
    def missing(self) -> list[str]:
        """Those that were declared and not hit, each with its test."""
        return [
            f"{group}: {name}" for group, names in self.declared.items() for name in sorted(names - self.hit[group])
        ]


def gathered(tests: Iterable[str], records: Iterable[Mapping[str, Any]]) -> Bins:
    """The bins of a run: its tests and what each recorded, in one order."""
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
    """Where the unit's verification lies."""
    return VERIF / find_unit(unit).room


def _file(unit: str, folder: Path | None) -> Path:
    return (folder or folder_of(unit)) / f"{unit}.bins.json"


def load(unit: str, folder: Path | None = None) -> dict[str, Any]:
    """A unit's list: digest, filter and tests; ValueError where there is none, or no whole one."""
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
    """Write a unit's list of what was hit."""
    tests = {group: sorted(names) for group, names in sorted(bins.hit.items()) if names}
    file = _file(unit, folder)
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"unit": unit, "digest": digest, "filter": filter_, "bins": tests}, indent=1)
    write_whole(file, text + "\n")


def missing(unit: str, bins: Bins, folder: Path | None = None) -> list[str]:
    """What the unit's list has, whatever it belongs to, and the run has not hit."""
    if not _file(unit, folder).is_file():
        return []
    return [
        f"{group}: {name}"
        for group, names in load(unit, folder)["bins"].items()
        for name in names
        if name not in bins.hit.get(group, ())
    ]


def unlisted(unit: str, bins: Bins, folder: Path | None = None) -> list[str]:
    """What the run has hit and the unit's list has not: no later run is held to it."""
    listed = load(unit, folder)["bins"] if _file(unit, folder).is_file() else {}
    return [
        f"{group}: {name}"
        for group, names in bins.hit.items()
        for name in sorted(names.difference(listed.get(group, ())))
    ]


def lost(unit: str, digest: str, filter_: str | None, bins: Bins, folder: Path | None = None) -> list[str]:
    """What is missing; nothing where the list is not of this configuration and choice."""
    if not _file(unit, folder).is_file():
        return []
    listed = load(unit, folder)
    same = (listed["digest"], listed["filter"]) == (digest, filter_)
    return missing(unit, bins, folder) if same else []
