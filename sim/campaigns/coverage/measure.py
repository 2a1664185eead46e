"""Coverage of one unit: runs its bench on a build that counts, and evaluates the counts."""

import json
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import bitpath.verif
from bitpath.rtl.common.config import digest, to_dict
from bitpath.rtl.common.unit import Covered
from bitpath.rtl.units import find_unit
from bitpath.sim.campaigns.coverage.netlist import Net, Netlist, read_netlist
from bitpath.sim.campaigns.coverage.points import Counts, LinePoint, parse
from bitpath.sim.campaigns.coverage.prove import constant_nets
from bitpath.sim.campaigns.coverage.waivers import Waiver, module_name, waived
from bitpath.sim.engine import cache, launch, paths
from bitpath.sim.engine.bins import Bins, gathered
from bitpath.sim.engine.build import Built
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.imports import module_file, reached
from bitpath.sim.engine.runner import build, run

SEED = 20251121
"""The seed of every run that measures coverage; lists of bins belong to it."""
RUN_SECONDS = 3600
COUNTS, RECORDS = "coverage.dat", "bins.json"
TAKEN_AT_1, TAKEN_AT_0 = ("if", "elsif", "cond_then"), ("else", "cond_else")
"""Verilator's names of branches, by the value of the condition that takes them."""
UNMISSABLE = ("reg ", "always ", "initial ")
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
    # Verilog writes a wire without bits as [-1:0], two bits, and the netlist leaves it out.
    empty = {(module, signal[: -len("[-1]")]) for module, signal in counts.toggles if signal.endswith("[-1]")}
    for (module, signal), both in counts.toggles.items():
        if (module, signal.rpartition("[")[0]) in empty:
            continue
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
