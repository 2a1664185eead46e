"""Reads Verilator's coverage.dat, one line a point, and sums the counts over the instances of a module."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_POINT = re.compile(r"^C '(.*)' (\d+)$")
_ESCAPED = re.compile(r"__0([0-9A-Fa-f]{2})")
LINE_KINDS = ("line", "branch")
DIRECTIONS = ("0->1", "1->0")


@dataclass(frozen=True)
class LinePoint:
    """A block or branch of the Verilog that Verilator counts.

    Attributes
    ----------
    module : name of the Verilog module.
    line, column : its first position, counted from 1.
    what : Verilator's kind: block, if, else, case, cond_then, cond_else.
    """

    module: str
    line: int
    column: int
    what: str


@dataclass(frozen=True)
class Counts:
    """Points of one or more runs.

    Lines have their number of passes; bits of signals, by module and name, have True if they rose and True if they fell
    in any instance of the module.
    """

    lines: Mapping[LinePoint, int]
    toggles: Mapping[tuple[str, str], tuple[bool, bool]]


def parse(text: str) -> Counts:
    """Read the points of Verilator's coverage.dat.

    Raises ValueError if the text is no coverage.dat, is cut short, or has a point of unknown kind.
    """
    first, _, rest = text.partition("\n")
    if not first.startswith("# SystemC::Coverage-3"):
        raise ValueError(f"this is no coverage file of Verilator, it begins with {first[:40]!r}")
    if not text.endswith("\n"):
        raise ValueError("the coverage file is cut short: its last line has no end")
    lines: dict[LinePoint, int] = {}
    toggles: dict[tuple[str, str], tuple[bool, bool]] = {}
    for row in rest.splitlines():
        found = _POINT.match(row)
        if not found:
            raise ValueError(f"the coverage file has a line that is no point: {row[:80]!r}")
        fields = dict(part.split("\x02", 1) for part in found[1].split("\x01") if part)
        count, module = int(found[2]), plain(fields["page"].partition("/")[2])
        if fields["t"] == "toggle":
            signal, _, direction = fields["o"].rpartition(":")
            key = (module, plain(signal))
            rose, fell = toggles.get(key, (False, False))
            up = DIRECTIONS.index(direction) == 0
            toggles[key] = (rose or (up and count > 0), fell or (not up and count > 0))
        elif fields["t"] in LINE_KINDS:
            point = LinePoint(module, int(fields["l"]), int(fields["n"]), fields["o"])
            lines[point] = lines.get(point, 0) + count
        else:
            raise ValueError(f"the coverage file has a point of the unknown kind {fields['t']!r}")
    return Counts(lines, toggles)


def plain(name: str) -> str:
    """Return a name as in the Verilog: Verilator escapes a character that is not a letter as ``__0`` and two hexadecimal
    digits."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), name)
