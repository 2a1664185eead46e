"""build/reports/mutation.json: a row for each target, all of the sources as they are."""

import time
from collections.abc import Iterable
from functools import cache as once
from pathlib import Path
from typing import Any

import bitpath.golden
import bitpath.rtl
import bitpath.sim
import bitpath.verif
from bitpath.sim.engine import cache, paths
from bitpath.sim.engine.reports import Record, merge


def rows_file() -> Path:
    """Return the file of the report."""
    return paths.reports() / "mutation.json"


class Rows:
    """Rows of the report. The constructor removes rows of ``targets``, judged again, and rows of other sources."""

    def __init__(self, targets: Iterable[str]):
        self._sources, self._began = _sources(), time.time()
        anew = set(targets)
        merge([], rows_file(), "target", lambda row: self._keeps(row) and row["target"] not in anew)

    def add(self, record: dict[str, Any]) -> None:
        """Write a target's row at once, so that a later failure does not lose it."""
        merge([record | {"sources": self._sources, "began": self._began}], rows_file(), "target", self._keeps)

    def _keeps(self, row: Record) -> bool:
        return row.get("sources") == self._sources


@once
def _sources() -> str:
    """Return the digest of all four packages."""
    packages = (bitpath.golden, bitpath.rtl, bitpath.verif, bitpath.sim)
    folders = [Path(str(package.__file__)).parent for package in packages]
    return cache.hash_files(folders, (".py", ".cpp", ".toml", ".txt"))[:16]
