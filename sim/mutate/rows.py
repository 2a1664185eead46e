"""build/reports/mutation.json: a row for each target, all of the sources as they are."""

import json
from collections.abc import Iterable
from functools import cache as once
from pathlib import Path
from typing import Any

import bitpath.golden
import bitpath.rtl
import bitpath.sim
import bitpath.verif
from bitpath.sim import cache, paths
from bitpath.verif.kit.report import write_records


def rows_file() -> Path:
    """The report."""
    return paths.reports() / "mutation.json"


class Rows:
    """The report's rows. Those of targets that are judged anew go at the start, and those of other sources with them.

    Parameters
    ----------
    targets : what is judged anew.
    """

    def __init__(self, targets: Iterable[str]):
        self._sources = _sources()
        anew = set(targets)
        self._rows = {
            row["target"]: row
            for row in _read(rows_file())
            if row.get("sources") == self._sources and row["target"] not in anew
        }
        self._write()

    def add(self, record: dict[str, Any]) -> None:
        """A target's row, at once: what is complete is not lost when a later one fails."""
        self._rows[record["target"]] = record | {"sources": self._sources}
        self._write()

    def _write(self) -> None:
        write_records(rows_file(), list(self._rows.values()))


@once
def _sources() -> str:
    """Of all four packages."""
    packages = (bitpath.golden, bitpath.rtl, bitpath.verif, bitpath.sim)
    folders = [Path(package.__file__).parent for package in packages]
    return cache.hash_files(folders, (".py", ".cpp", ".toml", ".txt"))[:16]


def _read(file: Path) -> list[dict[str, Any]]:
    try:
        rows = json.loads(file.read_text())
    except (FileNotFoundError, ValueError):
        return []
    return rows if isinstance(rows, list) else []
