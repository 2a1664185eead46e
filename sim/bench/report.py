"""bench.json and the table: what a run measured, beside what earlier runs measured of other things."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bitpath.sim import paths
from bitpath.verif.kit.report import write_records

FILE = "bench.json"


def save(records: Sequence[dict[str, Any]]) -> Path:
    """Write the records; those of other names that are there already stay."""
    path = paths.reports() / FILE
    before = json.loads(path.read_text()) if path.exists() else []
    names = {record["name"] for record in records}
    write_records(path, [*records, *(record for record in before if record["name"] not in names)])
    return path


def show(console: Console, records: Sequence[dict[str, Any]]) -> None:
    """Print the records as a table."""
    table = Table("machine", "what", title="Speed")
    for column in ("value", "unit", "ratio", "to", "cores", "of"):
        table.add_column(column, justify="right" if column in ("value", "ratio", "cores") else "left")
    for record in records:
        ratio = "" if record["ratio"] is None else f"{record['ratio']:.3g}"
        value = f"{record['value']:,.0f}" if record["value"] >= 1000 else f"{record['value']:.3g}"
        cells = record["machine"], record["name"], value, record["unit"], ratio, record["ratio_to"] or ""
        table.add_row(*cells, str(record["cores"]), record["config"])
    console.print(table)
