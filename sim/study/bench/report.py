"""Table of the records in bench.json."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table


def show(console: Console, title: str, records: Sequence[dict[str, Any]]) -> None:
    """Print the records as a table."""
    table = Table("machine", "what", title=title)
    for column in ("value", "unit", "ratio", "target", "to", "cores", "of"):
        table.add_column(column, justify="right" if column in ("value", "ratio", "target", "cores") else "left")
    for record in records:
        ratio = "" if record["ratio"] is None else f"{record['ratio']:.3g}"
        value = f"{record['value']:,.0f}" if record["value"] >= 1000 else f"{record['value']:.3g}"
        target = "" if record["target"] is None else f"{record['target']:.3g}"
        cells = record["machine"], record["name"], value, record["unit"], ratio, target, record["ratio_to"] or ""
        table.add_row(*cells, str(record["cores"]), _in_words(record["config"]))
    console.print(table)


def _in_words(config: Mapping[str, Any]) -> str:
    """Return the sizes and names of a configuration; nested parts are in bench.json only."""
    found = []
    for name, value in config.items():
        if name == "shape":
            found.append("x".join(map(str, value)))
        elif isinstance(value, str) and name != "digest":
            found.append(value)
    return ", ".join(found)
