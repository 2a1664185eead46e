"""Reports that hold what a run found beside what earlier runs found of other things, and the table of bench.json."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock
from rich.console import Console
from rich.table import Table

from bitpath.verif.kit.report import write_records


def merge(records: Sequence[Mapping[str, Any]], path: Path, key: str = "name", since: float = 0.0) -> None:
    """Write the records; those that are there already stay, but for those of the same ``key`` and those that began before
    ``since``, seconds of the epoch. Of two that write at once the second keeps what the first wrote."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = {record[key] for record in records}
    with FileLock(f"{path}.lock"):
        before = [each for each in _whole(path) if each.get(key) not in new and each.get("began", 0.0) >= since]
        write_records(path, [*before, *records])


def _whole(path: Path) -> list[dict[str, Any]]:
    """A report's records; none where there is no whole report."""
    try:
        found = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return []
    return [record for record in found if isinstance(record, dict)] if isinstance(found, list) else []


def show(console: Console, title: str, records: Sequence[dict[str, Any]]) -> None:
    """Print the records as a table."""
    table = Table("machine", "what", title=title)
    for column in ("value", "unit", "ratio", "to", "cores", "of"):
        table.add_column(column, justify="right" if column in ("value", "ratio", "cores") else "left")
    for record in records:
        ratio = "" if record["ratio"] is None else f"{record['ratio']:.3g}"
        value = f"{record['value']:,.0f}" if record["value"] >= 1000 else f"{record['value']:.3g}"
        cells = record["machine"], record["name"], value, record["unit"], ratio, record["ratio_to"] or ""
        table.add_row(*cells, str(record["cores"]), _in_words(record["config"]))
    console.print(table)


def _in_words(config: Mapping[str, Any]) -> str:
    """The sizes and the words of a configuration; not those of parts within it, which only bench.json has."""
    found = []
    for name, value in config.items():
        if name == "shape":
            found.append("x".join(map(str, value)))
        elif isinstance(value, str) and name != "digest":
            found.append(value)
    return ", ".join(found)
