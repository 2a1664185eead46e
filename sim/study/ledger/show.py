"""Prints the ledger as a table."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from bitpath.sim.study.ledger.run import changed, counts

COLOURS = {"reproduced": "green", "refuted": "red"}


def show_table(console: Console, records: Sequence[dict[str, Any]]) -> None:
    """Print one line for each row."""
    table = Table("row", "chip", "verdict", "statement", "golden", box=None, pad_edge=False)
    for each in records:
        colour = COLOURS.get(each["verdict"], "default")
        table.add_row(each["id"], each["chip"], f"[{colour}]{each['verdict']}[/]", each["statement"], each["golden"])
    console.print(table)


def show_row(console: Console, record: dict[str, Any]) -> None:
    """Print everything about one row."""
    lines = Table.grid("", "", padding=(0, 2))
    lines.add_row("row", f"{record['id']}, {record['chip']}")
    lines.add_row("statement", record["statement"])
    for each in record["sources"]:
        lines.add_row("source", each["address"])
    lines.add_row("standing", f"{record['standing']}, {record['evidence']}")
    lines.add_row("golden", record["golden"])
    for name, verdict in record["verdicts"].items() or [(record["under"], record["verdict"])]:
        lines.add_row("verdict", f"{verdict} under {name}")
    lines.add_row("why", record["why"])
    for each in record["predictions"]:
        lines.add_row("experiment", each["experiment"])
        for name, result in each["gives"].items():
            lines.add_row("", f"{result} by {name}")
    console.print(lines)


def summary(records: Sequence[dict[str, Any]]) -> str:
    """Return the counts by verdict as a line."""
    return f"{len(records)} row{'s' * (len(records) != 1)}: {', '.join(f'{count} {name}' for name, count in counts(records).items())}"


def changes(records: Sequence[dict[str, Any]]) -> list[str]:
    """Return a sentence for each row whose verdict has changed."""
    return [
        f"row {each['id']}: golden gives {_words(each['verdicts'])}, acknowledged is {_words(each['acknowledged'])}"
        for each in changed(records)
    ]


def _words(verdicts: dict[str, str]) -> str:
    return ", ".join(f"{verdict} under {name}" for name, verdict in verdicts.items())
