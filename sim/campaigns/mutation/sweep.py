"""Targets of both kinds, side by side, each giving a record of mutation.json."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from bitpath.sim.campaigns.mutation.golden import (
    COMPARISON_COUNT,
    COMPARISONS,
    GOLDEN_COUNT,
    find_python,
    golden_targets,
    judge_python,
)
from bitpath.sim.campaigns.mutation.hosts import find_targets, targets
from bitpath.sim.campaigns.mutation.judge import judge
from bitpath.sim.campaigns.mutation.verdicts import Judged, Progress, journal_file, read_reasons, record_of
from bitpath.sim.engine import cache, cluster, paths
from bitpath.sim.engine.cluster import HERE, Cluster, Piece, finished, tell
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.engine.results import Record, merge

# build/reports/mutation.json: a row for each target, all of the sources as they are.


def rows_file() -> Path:
    """Return the file of the report."""
    return paths.reports() / "mutation.json"


class Rows:
    """Rows of the report. The constructor removes rows of ``targets``, judged again, and rows of other sources."""

    def __init__(self, targets: Iterable[str]):
        self._sources, self._began = cluster.sources(), time.time()
        anew = set(targets)
        merge([], rows_file(), "target", lambda row: self._keeps(row) and row["target"] not in anew)

    def add(self, record: dict[str, Any]) -> None:
        """Write a target's row at once, so that a later failure does not lose it."""
        merge([record | {"sources": self._sources, "began": self._began}], rows_file(), "target", self._keeps)

    def _keeps(self, row: Record) -> bool:
        return row.get("sources") == self._sources


COUNT = 200


@dataclass(frozen=True)
class Task:
    """A component of RTL or a file of Python whose mutants are judged: their usual number, and the call that judges a number drawn by a seed."""

    target: str
    count: int
    call: Callable[[int, int, Progress], Judged]

    @property
    def is_rtl(self) -> bool:
        """True if judging it needs Yosys and Verilator."""
        return self.target.startswith("rtl/")


def chosen(names: Sequence[str], *, everything: bool, golden: bool, again: bool = False) -> list[Task]:
    """Return the targets that a command line names; With ``again``, mutants that ran out of time are judged once more.

    Raises ValueError for nothing, for a name of no target, and for names beside all.
    """
    if names and (everything or golden):
        raise ValueError("--all and --golden name targets themselves; leave out those named, or the option")
    if not names and not everything and not golden:
        raise ValueError(
            "no target named; name a file such as rtl/common/arithmetic/align or a unit, or give --all or --golden"
        )
    python = [name for name in names if name.startswith(("golden/", "sim/", "verif/"))]
    files = targets() if everything else find_targets(tuple(name for name in names if name not in python))
    python = golden_targets() if everything or golden else [find_python(name) for name in python]
    python += COMPARISONS if everything else ()
    counts = {file: COMPARISON_COUNT if file in COMPARISONS else GOLDEN_COUNT for file in python}
    tasks = [Task(file, COUNT, partial(judge, file, host, again=again)) for file, host in files.items()]
    return tasks + [Task(file, count, partial(judge_python, file, again=again)) for file, count in counts.items()]


def sweep(
    tasks: Sequence[Task],
    count: int | None,
    seed: int,
    console: Console,
    failures: list[str],
    cluster: Cluster = HERE,
) -> Iterator[dict[str, Any]]:
    """The record of each target, as soon as it is whole; ``failures`` gets a line on each that could not be judged."""
    known: dict[str, list[dict[str, Any]]] = {task.target: [] for task in tasks}
    for line in cache.read(journal_file()):
        known.get(line.get("target", ""), []).append(line)
    pieces = []
    for task in tasks:
        try:
            # Unknown files are reported before hours are spent.
            read_reasons(task.target)
        except ValueError as error:
            failures.append(f"{task.target}: {error}")
            continue
        most = task.count if count is None else count
        pieces.append(Piece(task.target, task.target, _judged, (task, most, seed, known[task.target])))
    start = time.monotonic()
    with console.status("") as status:
        for done, each in enumerate(finished(pieces, cluster, status.update), 1):
            target = each.piece.key
            try:
                record, lines = each.result()
            except (SimulationError, ValueError, OSError) as error:
                # The other targets are judged all the same.
                failures.append(f"{target}: {error}")
                console.print(f"{target}: not judged: {str(error).splitlines()[0]}", highlight=False)
                continue
            cache.extend(journal_file(), lines)
            left = (len(pieces) - done) * (time.monotonic() - start) / done / 60
            about = f"{done} of {len(pieces)} targets, about {left:.0f} min to go at their rate"
            counts = ", ".join(f"{record[name]} {name}" for name in ("killed", "equivalent", "survived", "broken"))
            console.print(f"{target}: {counts}; {about}", highlight=False)
            yield record


def _judged(
    task: Task, count: int, seed: int, known: Sequence[dict[str, Any]]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Judge a target in a worker; return its record, and the lines of the journal on it, which begin with those known."""
    cache.extend(journal_file(), known)
    record = record_of(task.call(count, seed, lambda what, part, whole: tell(f"{task.target}: {what} {part}/{whole}")))
    return record, [line for line in cache.read(journal_file()) if line.get("target") == task.target]
