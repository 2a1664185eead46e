"""Functional bins that a unit's bench must hit in every run.

``MACHINE/bins.json`` below ``verif`` lists them for each unit of the machine: for each test, over all its parameters, and for
each stream. A unit's list is valid for one configuration, named by its digest, and for one choice of tests.

Bins are written as patterns: ``{BF16|FP16}/bit {0..22}`` stands for 46 bins, each choice in braces with every other one.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, product
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
_LINE = 110
"""Longest pattern in characters, if it can be split."""
_CUTS = (r"(/)", r"(/|, | |-?\d+)")
"""Where names are cut into pieces that can differ; each group of bins takes the cut with the shorter patterns."""
_INTEGER = re.compile(r"0|-?[1-9]\d*")
_MARKS = re.compile(r"[{}|]|\.\.")
"""Characters of patterns, which a bin's name must not have."""


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


def patterns(names: Iterable[str]) -> list[str]:
    """Return patterns that stand for exactly these names, sorted; raise ValueError for a name with a pattern's characters."""
    ordered = sorted(names)
    if marked := [name for name in ordered if _MARKS.search(name)]:
        raise ValueError(f"a bin's name must be without braces, bars and two dots, not {marked[0]!r}")
    found = [[text for each in _products(ordered, cut) for text in _lines(each)] for cut in _CUTS]
    return min((sorted(texts) for texts in found), key=lambda texts: len(texts) * _LINE + len("".join(texts)))


def _products(names: Iterable[str], cut: str) -> Iterator[tuple[Collection[str], ...]]:
    """Return the names as products: those that differ in one piece only become one, piece by piece from the last one."""
    rows = [tuple(frozenset({piece}) for piece in re.split(cut, name)) for name in names]
    for length, same in groupby(sorted(rows, key=len), len):
        pieces = list(same)
        for place in reversed(range(length)):
            merged: dict[Any, frozenset[str]] = {}
            for row in pieces:
                others = row[:place], row[place + 1 :]
                merged[others] = merged.get(others, frozenset()) | row[place]
            pieces = [(*before, choices, *after) for (before, after), choices in merged.items()]
        yield from pieces


def _lines(pieces: tuple[Collection[str], ...]) -> list[str]:
    """Return a product as patterns, split at its largest choice while they are longer than a line."""
    text = "".join(map(_choice, pieces))
    most = max(range(len(pieces)), key=lambda place: len(pieces[place]))
    ordered = _ordered(pieces[most])
    half = len(ordered) // 2
    if len(text) <= _LINE or not half:
        return [text]
    halves = (ordered[:half], ordered[half:])
    return [line for part in halves for line in _lines((*pieces[:most], part, *pieces[most + 1 :]))]


def _ordered(choices: Iterable[str]) -> list[str]:
    return sorted(choices, key=lambda each: (0, int(each), "") if _INTEGER.fullmatch(each) else (1, 0, each))


def _choice(choices: Collection[str]) -> str:
    """Return ``a``, or ``{0..3|7|a}``: consecutive integers are a range."""
    texts: list[str] = []
    for _, run in groupby(
        enumerate(_ordered(choices)), lambda each: _INTEGER.fullmatch(each[1]) and int(each[1]) - each[0]
    ):
        values = [value for _, value in run]
        texts += [f"{values[0]}..{values[-1]}"] if len(values) > 2 and _INTEGER.fullmatch(values[0]) else values
    return texts[0] if len(choices) == 1 else "{" + "|".join(texts) + "}"


def matching(pattern: str) -> Iterator[str]:
    """Return the names that a pattern covers."""
    texts = re.split(r"\{(.*?)\}", pattern)
    choices = [list(_values(text)) if place % 2 else [text] for place, text in enumerate(texts)]
    return map("".join, product(*choices))


def _values(choice: str) -> Iterator[str]:
    for each in choice.split("|"):
        first, dots, last = each.partition("..")
        yield from map(str, range(int(first), int(last) + 1)) if dots else (each,)


def file_of(unit: str) -> Path:
    """Return the file of a unit's list."""
    return VERIF / find_unit(unit).room.partition("/")[0] / "bins.json"


def _lists(file: Path) -> dict[str, dict[str, Any]]:
    """Return the lists of a machine's units, as they are written; raise ValueError if the file is damaged."""
    if not file.is_file():
        return {}
    try:
        found = json.loads(file.read_text())
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    fields = {"digest", "filter", "bins"}
    if not isinstance(found, dict) or not all(
        isinstance(each, dict) and each.keys() == fields for each in found.values()
    ):
        raise ValueError(f"{file} must hold lists of bins by unit; bitpath self coverage --update writes them")
    return found


def load(unit: str) -> dict[str, Any]:
    """Return a unit's list: digest, filter, and bins of tests; raise ValueError if it is missing or damaged."""
    lists = _lists(file_of(unit))
    if unit not in lists:
        raise ValueError(f"{unit} has no list of bins; bitpath self coverage {unit} --update writes it")
    bins = {group: [name for each in texts for name in matching(each)] for group, texts in lists[unit]["bins"].items()}
    return lists[unit] | {"bins": bins}


def save(unit: str, digest: str, filter_: str | None, bins: Bins) -> None:
    """Write a unit's list of the bins hit."""
    tests = {group: patterns(names) for group, names in sorted(bins.hit.items()) if names}
    file = file_of(unit)
    lists = _lists(file) | {unit: {"digest": digest, "filter": filter_, "bins": tests}}
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, json.dumps(dict(sorted(lists.items())), indent=1) + "\n")


def missing(unit: str, bins: Bins) -> list[str]:
    """Return the bins of the unit's list that the run did not hit."""
    if unit not in _lists(file_of(unit)):
        return []
    return [
        f"{group}: {name}"
        for group, names in load(unit)["bins"].items()
        for name in names
        if name not in bins.hit.get(group, ())
    ]


def unlisted(unit: str, bins: Bins) -> list[str]:
    """Return the bins that the run hit and the unit's list lacks, so that no later run must hit them."""
    listed = load(unit)["bins"] if unit in _lists(file_of(unit)) else {}
    return [
        f"{group}: {name}"
        for group, names in bins.hit.items()
        for name in sorted(names.difference(listed.get(group, ())))
    ]


def lost(unit: str, digest: str, filter_: str | None, bins: Bins) -> list[str]:
    """Return the missing bins; empty if the list belongs to another configuration or choice of tests."""
    if unit not in _lists(file_of(unit)):
        return []
    listed = load(unit)
    same = (listed["digest"], listed["filter"]) == (digest, filter_)
    return missing(unit, bins) if same else []
