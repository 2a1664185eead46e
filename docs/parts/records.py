"""Records of runs: every figure that a page quotes, with the date and the machine of its run.

A record is ``docs/records/NAME.toml``: ``command``, ``date``, ``machine``, optionally a ``note``, single ``figures``, and
``tables`` of ``columns`` and ``rows``.
"""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

NUMBER = re.compile(r"[<-]?[\d.,]*(e-?\d+)?( %)?")
RECORDS = Path(__file__).resolve().parents[1] / "records"


@cache
def record(name: str) -> dict[str, Any]:
    """Read one record."""
    return tomllib.loads((RECORDS / f"{name}.toml").read_text())


def shown(value: Any) -> str:
    """Format an integer with commas; text stays as it is."""
    return f"{value:,}" if isinstance(value, int) else str(value)


def figures(name: str) -> dict[str, str]:
    """Return a record's single figures, its date, command and machine, ready to print."""
    found = record(name)
    heads = {key: str(found[key]) for key in ("command", "date", "machine")}
    return heads | {key: shown(value) for key, value in found.get("figures", {}).items()}


def markdown(columns: list[str], rows: list[list[Any]]) -> str:
    """Format a Markdown table. Columns of numbers are right-aligned."""
    numeric = [all(NUMBER.fullmatch(shown(row[place])) for row in rows) for place in range(len(columns))]
    lines = [
        columns,
        ["--:" if right else "---" for right in numeric],
        *([shown(cell) for cell in row] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def table(name: str, which: str) -> str:
    """Return a table of a record as Markdown, with the run that it is from below it."""
    found = record(name)
    rows = found["tables"][which]
    return f"{markdown(rows['columns'], rows['rows'])}\n\n{source(name)}"


def source(name: str) -> str:
    """Say in one line which run a record is from."""
    found = record(name)
    note = f" {found['note']}" if "note" in found else ""
    return f"*From `{found['command']}`, {found['date']}, {found['machine']}.{note}*"
