"""Prints the results of the tasks."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Column, Table

from bitpath.sim.campaigns.volume.table import AnyTask

GOLDEN = "golden"
"""Unit name of tasks without hardware."""
SHOWN = 20
"""Largest number of mismatches shown."""


def show_tasks(console: Console, tasks: Sequence[AnyTask]) -> None:
    """Print the tasks: name, unit, number of vectors and subject."""
    table = Table("name", "unit", "vectors", "what")
    for task in tasks:
        vectors = "as asked" if task.blocks is None else f"{task.blocks * task.block_vectors:,}"
        table.add_row(task.name, task.unit, vectors, task.what)
    console.print(table)


def show(console: Console, records: Sequence[dict[str, Any]]) -> None:
    """One row for each record; times are the processor's."""
    headings = ("vectors", "mismatches", "seconds", "unit M/s", "golden M/s")
    table = Table("name", "unit", *(Column(heading, justify="right") for heading in headings))
    for record in records:
        rates = (_rate(record, name) for name in ("rtl_seconds", "golden_seconds"))
        counts = f"{record['vectors']:,}", str(record["mismatches"]), f"{record['seconds']:.0f}"
        table.add_row(record["name"], record["unit"], *counts, *rates)
    console.print(table)


def _rate(record: dict[str, Any], seconds: str) -> str:
    return f"{record['vectors'] / record[seconds] / 1e6:.2f}" if record[seconds] else "-"


def show_mismatches(console: Console, records: Sequence[dict[str, Any]]) -> None:
    """Print the first mismatches between unit and golden, with operands and replay command."""
    found = [(record, each) for record in records for each in record["first"]]
    for record, each in found[:SHOWN]:
        got, expected = (" ".join(f"0x{word:08x}" for word in each[name]) for name in ("got", "expected"))
        place = f"block {each['block']}, batch {each['batch']}, vector {each['vector']} ({each['kind']})"
        console.print(f"{record['name']}: {place}: {got} in {record['unit']} and {expected} in golden")
        console.print("  " + ", ".join(f"{name}=0x{value:x}" for name, value in each["operands"].items()))
        if record["unit"] != GOLDEN:
            where = f"{each['block']} {each['batch']} {each['vector']}"
            console.print(f"  replay: bitpath deep {record['name']} --seed {record['seed']} --replay {where}")
