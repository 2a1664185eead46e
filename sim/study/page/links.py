"""Links from the page to the files of runs below build."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bitpath.sim.engine import paths
from bitpath.sim.engine.results import read_json


def relative(file: Path) -> str:
    """Return the link from the page's folder to a file, so that the folder build may be moved."""
    return quote(Path(os.path.relpath(file, paths.reports())).as_posix())


def run_files(folder: Path) -> dict[str, str]:
    """Return links to the log and the wave of a run's folder, those that exist, by name."""
    files = {"log": folder / "run.log", "wave": next(iter(sorted(folder.glob("*.fst"))), folder / "none")}
    return {name: relative(file) for name, file in files.items() if file.is_file()}


def unit_runs() -> dict[str, dict[str, str]]:
    """Return the links of each unit's last bench run."""
    newest: dict[str, tuple[float, Path]] = {}
    for summary in paths.runs().glob("*/*/run.json"):
        run: Any = read_json(summary, [])
        if isinstance(run, dict) and isinstance(run.get("unit"), str):
            found = (summary.stat().st_mtime, summary.parent)
            newest[run["unit"]] = max(newest.get(run["unit"], found), found)
    return {unit: run_files(folder) for unit, (_, folder) in newest.items()}
