"""Coverage of a unit: bins, lines and toggles that its bench reaches, waivers, and the report."""

import json
import re
import shutil
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import bitpath.verif
from bitpath.golden.arrays.arguments import check_choice
from bitpath.golden.formats.records import to_dict
from bitpath.rtl.common.config import digest
from bitpath.rtl.common.unit import Covered
from bitpath.rtl.units import UNITS, find_unit
from bitpath.sim.campaigns.constants import Net, Netlist, constant_nets, read_netlist
from bitpath.sim.engine import cache, launch, paths
from bitpath.sim.engine.bins import Bins, gathered
from bitpath.sim.engine.build import Built
from bitpath.sim.engine.imports import module_file, reached
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.engine.runner import build, run

# Reads Verilator's coverage.dat, one line a point, and sums the counts over the instances of a module.


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


# Reads ``waivers.toml`` of each machine below ``verif``: points that cannot be reached, each with its reason.
#
#     [[waiver]]
#     units = ["post_add"]
#     kind = "toggle"
#     match = 'products\.float_decode_.*'
#     reason = "its bench ..."
#
# ``match`` is a regular expression for all of ``module.signal[bit]`` of a toggle, with module names without their digests, or
# for Verilator's name of a block or branch and its line: ``if: if (a) begin`` in every module, or ``post_add.if: if (a) begin`` in
# one. A match that was reached is an error. An entry that matches nothing in a unit that it names is an error too.


VERIF = Path(bitpath.verif.__file__).parent
WAIVED_KINDS = ("line", "toggle")
_FIELDS = {"units": list, "kind": str, "match": str, "reason": str}
_DIGEST = re.compile(r"_[0-9a-f]{8}(?=\.|$)")


@dataclass(frozen=True)
class Waiver:
    """One waiver of a waivers.toml.

    Attributes
    ----------
    units : units for which it holds; if empty, all units, and it need not match in each.
    kind : kind of the points, one of :data:`WAIVED_KINDS`.
    match : pattern of the points' names.
    reason : why they are not reached.
    """

    units: tuple[str, ...]
    kind: str
    match: re.Pattern[str]
    reason: str


def load_all() -> tuple[Waiver, ...]:
    """Return the waivers of all machines."""
    return tuple(waiver for file in sorted(VERIF.glob("*/waivers.toml")) for waiver in load(file))


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
    check_choice(f"{where}: kind", entry["kind"], WAIVED_KINDS)
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


# Coverage of one unit: runs its bench on a build that counts, and evaluates the counts.


SEED = 20251121
"""The seed of every run that measures coverage; lists of bins belong to it."""
RUN_SECONDS = 3600
COUNTS, RECORDS = "coverage.dat", "bins.json"
TAKEN_AT_1, TAKEN_AT_0 = ("if", "elsif", "cond_then"), ("else", "cond_else")
"""Verilator's names of branches, by the value of the condition that takes them."""
UNMISSABLE = ("always ", "initial ")
"""Beginnings of lines that start a block which every simulation runs."""
DUMMY = "dump_module$"
"""Part of the name of the dummy signal that Yosys adds to each block, so that no block is empty."""
_CONDITION = re.compile(r"(?: = |\bif \()(\\\S+(?: \[\d+\])?|\w+(?:\[\d+\])?) *[?)]")


@dataclass(frozen=True)
class Coverage:
    """Coverage that a unit's bench reaches.

    It has the hits of the functional bins, the flat record for coverage.json, and the source lines and signal bits that
    are neither reached, nor proved constant, nor waived.
    """

    bins: Bins
    record: dict[str, Any]
    uncovered: tuple[str, ...]


@dataclass(frozen=True)
class Share:
    """Numbers of all, reached and waived points of one kind, and the names of the others."""

    total: int
    hit: int
    waived: int
    uncovered: tuple[str, ...]

    @property
    def percent(self) -> float:
        """Percentage of the points that are not waived; 100 for a unit without such points."""
        return percent(self.hit, self.total - self.waived)


def percent(hit: int, total: int) -> float:
    """Round down to two places, so that a value below a goal stays below it."""
    return 10000 * hit // total / 100 if total else 100.0


def measure(unit: str, measured: Covered, waivers: Sequence[Waiver]) -> Coverage:
    """Run a unit's bench, or take the run from the cache, and count.

    Raises SimulationError if the bench or Yosys failed, nothing was counted, or a bit that toggled was proved constant;
    ValueError if a waiver matches nothing, or a point that was reached.
    """
    built = build(unit, measured.config, "verilator", coverage=True)
    counts, bins, seconds = _counts(built, measured)
    verilog = built.verilog[0]
    source, netlist = verilog.read_text().splitlines(), read_netlist(verilog, built.top)
    nets, lines_of = toggled_nets(counts, netlist), real_lines(counts, source)
    for what, there in (("lines", counts.lines), ("bits", nets), ("bins", bins.total)):
        if not there:
            raise SimulationError(f"{unit}: no {what} were counted, and every unit has some")
    deciding = conditions(lines_of, source)
    still = {net: names[0] for net, (names, toggled) in nets.items() if not toggled}
    asked = {netlist.net(point.module, signal): signal for point, signal in deciding.items()}
    constant = constant_nets(netlist, still | {net: signal for net, signal in asked.items() if net is not None})
    if wrong := contradicted(nets, constant.keys()):
        raise SimulationError(f"{unit}: proved constant, but it toggled: {', '.join(wrong)}")
    dead = dead_branches(netlist, deciding, constant)
    lines = line_share(unit, lines_of, source, waivers, dead)
    toggles = toggle_share(unit, nets, waivers, constant.keys())
    for what, share in (("lines", lines), ("bits", toggles)):
        if share.total and share.total == share.waived:
            raise ValueError(f"{unit}: all {what} are waived")
    record = {
        "unit": unit,
        "functional_percent": percent(bins.covered, bins.total),
        "line_percent": lines.percent,
        "toggle_percent": toggles.percent,
        "waived": lines.waived + toggles.waived,
        "bins": bins.total,
        "lines": lines.total,
        "lines_waived": lines.waived,
        "lines_proved_dead": len(dead),
        "bits": toggles.total,
        "bits_waived": toggles.waived,
        "bits_proved_constant": len(nets.keys() & constant.keys()),
        "config": to_dict(measured.config),
        "digest": built.digest,
        "verilog": cache.hash_files(built.verilog)[:16],
        "seed": SEED,
        "wall_seconds": round(seconds, 1),
    }
    return Coverage(bins, record, (*lines.uncovered, *toggles.uncovered))


def _counts(built: Built, measured: Covered) -> tuple[Counts, Bins, float]:
    """Return Verilator's and the bench's counts. A run is cached until the design, the bench or an import of it changes."""
    bench = find_unit(built.unit).bench
    vectors = Path(bitpath.verif.__file__).parent / "vectors"
    sources = [*map(module_file, sorted(reached(bench))), *sorted(vectors.iterdir()), Path(launch.__file__)]
    key = {
        "build": json.loads((built.folder / cache.STAMP).read_text())["key"],
        "sources": cache.hash_files(sources),
        "run": [SEED, measured.cases, dict(measured.env), measured.tests],
        "versions": [sys.version, version("cocotb"), version("numpy"), version("ml_dtypes")],
    }
    folder = paths.build_root() / "coverage" / built.top / "run"
    made = cache.ensure(folder, key, partial(_run, built, measured, bench))
    found = json.loads((folder / RECORDS).read_text())
    return parse((folder / COUNTS).read_text()), gathered(found["tests"], found["records"]), made["seconds"]


def _run(built: Built, measured: Covered, bench: str, folder: Path) -> dict[str, Any]:
    env = {"BITPATH_CASES": str(measured.cases), **measured.env}
    result = run(built, bench, seed=SEED, tests=measured.tests, env=env, timeout=RUN_SECONDS, check_bins=False)
    counted = result.folder / COUNTS
    if not counted.is_file():
        raise SimulationError(f"{built.unit}: the simulation left no {COUNTS} in {paths.shown(result.folder)}")
    shutil.move(counted, folder / COUNTS)
    (folder / RECORDS).write_text(json.dumps({"tests": result.tests, "records": result.records}))
    return {"seconds": result.seconds}


def toggled_nets(counts: Counts, netlist: Netlist) -> dict[Net, tuple[list[str], bool]]:
    """Return, by net, its names and if it rose and fell."""
    found: dict[Net, tuple[list[str], bool]] = {}
    for (module, signal), both in counts.toggles.items():
        net = netlist.net(module, signal)
        if net is not None and netlist.drives(net):
            names, toggled = found.get(net, ([], False))
            found[net] = ([*names, signal], toggled or all(both))
    return found


def real_lines(counts: Counts, source: Sequence[str]) -> dict[LinePoint, int]:
    """Drop the points that every run reaches: initial and process blocks, and Yosys' dummy statements in them."""
    return {
        point: count
        for point, count in counts.lines.items()
        if DUMMY not in source[point.line - 1]
        and not (point.what == "block" and source[point.line - 1].lstrip().startswith(UNMISSABLE))
    }


def conditions(counted: Mapping[LinePoint, int], source: Sequence[str]) -> dict[LinePoint, str]:
    """Return the names of the bits that alone decide branches that were not taken."""
    found = {}
    for point, count in counted.items():
        match = _CONDITION.search(source[point.line - 1])
        if not count and point.what in TAKEN_AT_1 + TAKEN_AT_0 and match:
            found[point] = match[1].removeprefix("\\").replace(" ", "")
    return found


def dead_branches(
    netlist: Netlist, deciding: Mapping[LinePoint, str], constant: Mapping[Net, frozenset[int]]
) -> set[LinePoint]:
    """Return the branches whose condition is constant in every instance, with the value that does not take them."""
    found = set()
    for point, signal in deciding.items():
        net = netlist.net(point.module, signal)
        values = {netlist.constant(point.module, signal)} if net is None else constant.get(net)
        if values == {int(point.what in TAKEN_AT_0)}:
            found.add(point)
    return found


def line_share(
    unit: str,
    counted: Mapping[LinePoint, int],
    source: Sequence[str],
    waivers: Iterable[Waiver],
    dead: Set[LinePoint] = frozenset(),
) -> Share:
    """Return blocks and branches that are not proved dead. A waiver may match ``what: line`` or ``module.what: line``."""
    places = sorted(counted.keys() - dead, key=lambda point: (point.line, point.column, point.what, point.module))
    names = [f"{point.what}: {source[point.line - 1].strip()}" for point in places]
    points = [
        ((name, f"{module_name(point.module)}.{name}"), counted[point] > 0)
        for name, point in zip(names, places, strict=True)
    ]
    return _share(points, waived(waivers, unit, "line", points), names)


def contradicted(nets: Mapping[Net, tuple[list[str], bool]], constant: Set[Net]) -> list[str]:
    """Nets that a run has seen to rise and to fall, though they are said to be constant: the proof or the run is wrong."""
    return [f"{net.module}.{names[0]}" for net, (names, toggled) in nets.items() if toggled and net in constant]


def toggle_share(
    unit: str, nets: Mapping[Net, tuple[list[str], bool]], waivers: Iterable[Waiver], constant: Set[Net]
) -> Share:
    """Nets, each with all its names, without those that are proved constant."""
    points = [
        ([f"{module_name(net.module)}.{name}" for name in names], toggled)
        for net, (names, toggled) in nets.items()
        if net not in constant
    ]
    return _share(points, waived(waivers, unit, "toggle", points), [" = ".join(names) for names, _ in points])


def _share(points: Sequence[tuple[Sequence[str], bool]], without: list[int], names: Sequence[str]) -> Share:
    listed = set(without)
    return Share(
        total=len(points),
        hit=sum(reached for _, reached in points),
        waived=len(listed),
        uncovered=tuple(
            name
            for place, (name, (_, reached)) in enumerate(zip(names, points, strict=True))
            if not reached and place not in listed
        ),
    )


def list_key(unit: str, measured: Covered) -> tuple[str, str | None]:
    """Return the key of a list of bins: the configuration's digest and the choice of tests."""
    return digest(unit, measured.config), measured.tests


# Coverage as a table, a picture and a list of records.


REPORT, PICTURE = "coverage.json", "coverage.png"
ALL, GOAL = 100.0, 98.0
"""Goals in percent: ALL for bins, GOAL for lines and toggles without waived points."""
KINDS = {"functional_percent": "bins", "line_percent": "lines", "toggle_percent": "toggles"}
_COLORS = ("#4477aa", "#ccbb44", "#228833")


def failures(record: Mapping[str, Any]) -> list[str]:
    """Return one sentence for each kind of coverage below its goal."""
    goals = {"functional_percent": ALL, "line_percent": GOAL, "toggle_percent": GOAL}
    return [
        f"{record['unit']}: {record[name]:.2f} % of {KINDS[name]}, the goal is {goal:g} %"
        for name, goal in goals.items()
        if record[name] < goal
    ]


def is_whole(record: Mapping[str, Any]) -> bool:
    """Return True if a record has the fields that the picture shows."""
    return record.keys() >= KINDS.keys()


def show(console: Any, records: Sequence[Mapping[str, Any]]) -> None:
    """Print a table with one row a unit."""
    from rich.table import Column, Table

    names = ("bins", "% hit", "lines", "% hit", "bits", "% toggled", "proved constant", "waived")
    table = Table("unit", *(Column(name, justify="right") for name in names), title="Coverage")
    for record in records:
        table.add_row(
            record["unit"],
            f"{record['bins']}",
            f"{record['functional_percent']:.2f}",
            f"{record['lines'] - record['lines_waived']}",
            f"{record['line_percent']:.2f}",
            f"{record['bits'] - record['bits_waived']}",
            f"{record['toggle_percent']:.2f}",
            f"{record['bits_proved_constant']}",
            f"{record['waived']}",
        )
    console.print(table)


def draw(records: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Draw three bars a unit, from 90 % or the lowest value to 100 %."""
    from bitpath.sim.engine.tools import require_extra

    require_extra("plot")
    from matplotlib.figure import Figure

    lowest = min(record[name] for record in records for name in KINDS)
    figure = Figure(figsize=(8, 1.5 + 0.45 * len(records)), layout="constrained")
    axes = figure.subplots()
    for place, (name, label) in enumerate(KINDS.items()):
        heights = [row + (place - 1) * 0.27 for row in range(len(records))]
        axes.barh(heights, [record[name] for record in records], 0.25, label=label, color=_COLORS[place])
    axes.axvline(GOAL, color="black", linewidth=0.8, linestyle=":")
    axes.set_yticks(range(len(records)), [record["unit"] for record in records])
    axes.invert_yaxis()
    axes.set_xlim(min(90.0, lowest - 1), 100.0)
    axes.set_xlabel("percent of what is not waived")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08 if len(records) > 8 else -0.25), ncols=len(KINDS))
    figure.savefig(file)
