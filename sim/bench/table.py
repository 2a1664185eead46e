"""The table of a bench's records."""

from typing import Any

from rich.console import Console
from rich.table import Table

COLUMNS = ("machine", "name", "value", "unit", "ratio", "ratio_to")


def show_bench(console: Console, records: list[dict[str, Any]]) -> None:
    """One row for each record."""
    table = Table()
    for name in COLUMNS:
        table.add_column(name.replace("_", " "), justify="right" if name in ("value", "ratio") else "left")
    for record in records:
        table.add_row(*(_text(record[name]) for name in COLUMNS))
    console.print(table)


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else str(value)
