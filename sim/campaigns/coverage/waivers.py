"""Reads ``waivers.toml`` of each room below ``verif``: points that cannot be reached, each with its reason.

    [[waiver]]
    units = ["post_add"]
    kind = "toggle"
    match = 'products\\.float_decode_.*'
    reason = "its bench ..."

``match`` is a regular expression for all of ``module.signal[bit]`` of a toggle, with module names without their digests, or
for Verilator's name of a block or branch and its line: ``if: if (a) begin`` in every module, or ``post_add.if: if (a) begin`` in
one. A match that was reached is an error. An entry that matches nothing in a unit that it names is an error too.
"""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bitpath.verif
from bitpath.golden.arrays.arguments import check_choice
from bitpath.rtl.units import UNITS

VERIF = Path(bitpath.verif.__file__).parent
KINDS = ("line", "toggle")
_FIELDS = {"units": list, "kind": str, "match": str, "reason": str}
_DIGEST = re.compile(r"_[0-9a-f]{8}(?=\.|$)")


@dataclass(frozen=True)
class Waiver:
    """One waiver of a waivers.toml.

    Attributes
    ----------
    units : units for which it holds; if empty, all units, and it need not match in each.
    kind : kind of the points, one of :data:`KINDS`.
    match : pattern of the points' names.
    reason : why they are not reached.
    """

    units: tuple[str, ...]
    kind: str
    match: re.Pattern[str]
    reason: str


def load_all() -> tuple[Waiver, ...]:
    """Read the waivers of all rooms."""
    return tuple(waiver for file in sorted(VERIF.rglob("waivers.toml")) for waiver in load(file))


def load(file: Path) -> tuple[Waiver, ...]:
    """Read the waivers of one room.

    Raises ValueError if a field is missing, unknown, of the wrong type or empty, a unit or kind is unknown, or no
    expression.
    """
    try:
        table = tomllib.loads(file.read_text())
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    if set(table) - {"waiver"}:
        raise ValueError(f"{file.name}: a list of [[waiver]] and nothing else, found {', '.join(sorted(table))}")
    return tuple(
        _waiver(f"{file.name}, waiver {place + 1}", entry) for place, entry in enumerate(table.get("waiver", ()))
    )


def _waiver(where: str, entry: dict[str, Any]) -> Waiver:
    if set(entry) != set(_FIELDS):
        raise ValueError(f"{where}: the fields are {', '.join(_FIELDS)}, found {', '.join(entry)}")
    for name, kind in _FIELDS.items():
        if not isinstance(entry[name], kind) or (kind is str and not entry[name]):
            raise ValueError(f"{where}: {name} is {entry[name]!r}, a {kind.__name__} with something in it is needed")
    check_choice(f"{where}: kind", entry["kind"], KINDS)
    for unit in entry["units"]:
        check_choice(f"{where}: a unit", unit, UNITS)
    try:
        match = re.compile(entry["match"])
    except re.error as error:
        raise ValueError(f"{where}: {entry['match']!r} is no regular expression: {error}") from None
    return Waiver(tuple(entry["units"]), entry["kind"], match, entry["reason"])


def module_name(module: str) -> str:
    """A module's name without the digests of configurations, which change with every edit of one."""
    return _DIGEST.sub("", module)


def waived(waivers: Iterable[Waiver], unit: str, kind: str, points: Sequence[tuple[Sequence[str], bool]]) -> list[int]:
    """Return the waivers of a unit's points, by index.

    Parameters
    ----------
    points : names of each point (one must match), and True if it was reached.

    Raises
    ------
    ValueError : a waiver that names the unit matches nothing, or any matches a point that was reached.
    """
    found: set[int] = set()
    for waiver in waivers:
        if kind != waiver.kind or (waiver.units and unit not in waiver.units):
            continue
        places = [place for place, (names, _) in enumerate(points) if any(map(waiver.match.fullmatch, names))]
        if waiver.units and not places:
            raise ValueError(
                f"{unit}: the waiver {waiver.match.pattern!r} matches nothing; take the unit from its list"
            )
        reached = [points[place][0][0] for place in places if points[place][1]]
        if reached:
            raise ValueError(
                f"{unit}: the waiver {waiver.match.pattern!r} matches {reached[0]!r}, which is reached; narrow it"
            )
        found.update(places)
    return sorted(found)
