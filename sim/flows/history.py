"""The history of ``bitpath run``: each run is kept as build/reports/runs/TIME.json, its time in UTC, so names sort by time."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import bitpath.sim
from bitpath.rtl.common.files import write_whole
from bitpath.sim.engine import paths

_RUN: dict[str, type | tuple[type, ...]] = {
    "began": str,
    "command": str,
    "commit": (str, type(None)),
    "formats": int,
    "wall_seconds": (int, float),
    "records": list,
}
_RECORD: dict[str, type | tuple[type, ...]] = {
    "machine": str,
    "flow": str,
    "format": str,
    "sim": str,
    "outputs_compared": int,
    "mismatches": int,
    "cycles": int,
    "wall_seconds": (int, float),
    "config": dict,
    "map": dict,
}
"""Fields of a kept run and of its records, and their types."""


@dataclass(frozen=True)
class Kept:
    """One kept run of ``bitpath run``.

    Attributes
    ----------
    began : time in UTC, ISO 8601.
    command : the command line.
    commit : git commit of the sources, with "-dirty" if they were changed since; None outside a git checkout.
    formats : number of formats to run; an interrupted run has fewer records.
    wall_seconds : seconds from the start to the last record.
    records : a record for each format, as in run.json, with ``map``, the run's ``folder`` below build, and its ``report`` of
        mismatches.
    """

    began: str
    command: str
    commit: str | None
    formats: int
    wall_seconds: float
    records: Sequence[dict[str, Any]]

    @property
    def mismatches(self) -> int:
        """Differing values of all formats."""
        return sum(record["mismatches"] for record in self.records)

    @property
    def compared(self) -> int:
        """Compared values of all formats."""
        inner = ("quantized_compared", "staged_compared")
        return sum(record["outputs_compared"] + sum(record.get(name, 0) for name in inner) for record in self.records)


def folder() -> Path:
    """Return the folder of the kept runs."""
    return paths.reports() / "runs"


def commit() -> str | None:
    """Return the git commit of the sources, 12 digits, with "-dirty" after a change; None outside a git checkout."""
    root = Path(str(bitpath.sim.__file__)).resolve().parents[1]
    # An installed package may lie inside the checkout of another project.
    if shutil.which("git") is None or _git(root, "rev-parse", "--show-toplevel") != str(root):
        return None
    return _git(root, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")


def _git(root: Path, *words: str) -> str | None:
    env = os.environ | {"GIT_OPTIONAL_LOCKS": "0"}
    done = subprocess.run(["git", "-C", str(root), *words], env=env, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None if done.returncode == 0 else None


@dataclass
class Keeper:
    """Keeps the run that begins now; the first `keep` makes its file.

    ``formats`` is the number of formats to run.
    """

    formats: int
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    start: float = field(default_factory=time.monotonic)
    commit: str | None = field(default_factory=commit)
    file: Path | None = None

    def keep(self, records: Sequence[dict[str, Any]]) -> None:
        """Write the records so far; a later format may fail."""
        self.file = self.file or self._reserved()
        run = {
            "began": self.began.isoformat(),
            "command": shlex.join(["bitpath", *sys.argv[1:]]),
            "commit": self.commit,
            "formats": self.formats,
            "wall_seconds": round(time.monotonic() - self.start, 2),
            "records": list(records),
        }
        write_whole(self.file, json.dumps(run, separators=(",", ":")) + "\n")

    def _reserved(self) -> Path:
        """Return a new empty file; of two runs that begin at once, the second takes a later microsecond."""
        folder().mkdir(parents=True, exist_ok=True)
        while True:
            file = folder() / f"{self.began:%Y%m%dT%H%M%S.%fZ}.json"
            try:
                file.touch(exist_ok=False)
            except FileExistsError:
                self.began += timedelta(microseconds=1)
            else:
                return file


def kept_runs(damaged: list[Path]) -> list[Kept]:
    """Return the kept runs, oldest first. Files that are not whole are added to ``damaged``, except empty ones."""
    found = []
    for file in sorted(folder().glob("*.json")):
        try:
            text = file.read_bytes()
            run = json.loads(text or "null")
        except ValueError:
            run = {}
        if run is None and not text:
            continue
        if _is_run(run):
            found.append(Kept(**{name: run[name] for name in _RUN}))
        else:
            damaged.append(file)
    return found


def _is_run(run: Any) -> bool:
    try:
        return (
            _has(run, _RUN)
            and datetime.fromisoformat(run["began"]).tzinfo is not None
            and len(run["records"]) > 0
            and all(_has(record, _RECORD) and _is_map(record["map"]) for record in run["records"])
        )
    except ValueError:
        return False


def _has(found: Any, fields: dict[str, type | tuple[type, ...]]) -> bool:
    return isinstance(found, dict) and all(isinstance(found.get(name), kind) for name, kind in fields.items())


def _is_map(found: dict[str, Any]) -> bool:
    """Return True for maps whose cells are numbers or None in rows of one length."""
    maps = {name: cells for name, cells in found.items() if name != "block"}
    block = found.get("block", [1, 1] if not maps else None)
    return (
        isinstance(block, list)
        and len(block) == 2
        and all(isinstance(side, int) and side > 0 for side in block)
        and all(
            isinstance(cells, list)
            and cells
            and all(isinstance(row, list) and row and len(row) == len(cells[0]) for row in cells)
            and all(isinstance(each, int | float | None) for row in cells for each in row)
            for cells in maps.values()
        )
    )
