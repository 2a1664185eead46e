"""build/reports/mutation.json: a row for each target, all of the sources as they are."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bitpath.sim.engine import cluster, paths
from bitpath.sim.engine.reports import Record, merge


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
