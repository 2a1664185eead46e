"""``bitpath report``: joins the testplans with the last results and the measurements of other commands."""

import sys
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bitpath.sim.engine import paths, results
from bitpath.sim.engine.results import Records
from bitpath.verif.kit.report import write_records
from bitpath.verif.kit.testplan import load_plans

REPORT = "report"


@click.command()
@click.option("--strict", is_flag=True, help="Fail unless every item of every plan has passed.")
def command(strict: bool) -> None:
    """Print tests, reasons and results of each testplan item, and proofs and measurements of each unit.

    Writes the same to build/reports/report.json: a record for each test of each item.
    """
    latest = results.latest_results()
    damaged = list(latest.damaged)
    measured, stale = results.run_reports(damaged)
    for each in (measured, stale):
        each.pop(REPORT, None)
    units: dict[str, Any] = {}
    records = []
    plans = Table("unit", "item", "what", "tests", "runs", "compared", "status", title="Testplans")
    for item in load_plans():
        found = latest.of(item)
        whole = results.over(found)
        units.setdefault(item.unit, []).append(whole)
        records += [
            {"unit": item.unit, "item": item.id, "what": item.what, "test": test, **vars(result)}
            for test, result in found.items()
        ]
        numbers = (str(len(found)), str(whole.runs), f"{whole.compared:,}")
        colour = "green" if whole.status == results.PASSED else "bold red"
        plans.add_row(item.unit, item.id, escape(item.what), *numbers, f"[{colour}]{whole.status}[/]")
    console = Console()
    console.print(plans)
    console.print(_units(units, measured))
    for name, flat in measured.items():
        console.print(_table(name, flat))
    for name, flat in stale.items():
        console.print(_table(f"[bold red]{name}: {results.STALE}[/]", flat))
    for file in damaged:
        console.print(f"[red]{escape(paths.shown(file))} is not whole; nothing was taken from it[/]")
    file = paths.reports() / f"{REPORT}.json"
    write_records(file, records)
    items = [whole for unit in units.values() for whole in unit]
    passed = sum(whole.status == results.PASSED for whole in items)
    console.print(f"{passed} of {len(items)} items passed; records: {paths.shown(file)}")
    sys.exit(strict and passed < len(items))


def _units(units: dict[str, list[results.Result]], measured: dict[str, Records]) -> Table:
    """Return a row for each unit: its plan, and findings of other commands."""
    table = Table("unit", "items passed", "values compared", *_FOUND, title="Units")
    for unit, items in units.items():
        passed = sum(item.status == results.PASSED for item in items)
        colour = "green" if passed == len(items) else "bold red"
        cells = []
        for name, text in _FOUND.items():
            # Formal's units have their folder in front.
            own = [each for each in measured.get(name, []) if str(each.get("unit")).rpartition(".")[2] == unit]
            cells.append(text(own) if own else "")
        compared = sum(item.compared for item in items)
        table.add_row(unit, f"[{colour}]{passed} of {len(items)}[/]", f"{compared:,}", *cells)
    return table


def _sum(records: Records, name: str) -> int:
    return sum(record.get(name, 0) for record in records)


def _proved(record: dict[str, Any]) -> bool:
    """Return True if a property is proved and the proof detects its sabotage."""
    return record.get("status") == "proved" and record.get("sabotage_caught") is True


_FOUND = {
    "mutation": lambda own: f"{_sum(own, 'killed')} of {_sum(own, 'mutants') - _sum(own, 'equivalent')} killed",
    "formal": lambda own: f"{sum(map(_proved, own))} of {len(own)} proved",
    "coverage": lambda own: (
        "/".join(f"{own[-1].get(f'{kind}_percent', 0):.4g}" for kind in ("functional", "line", "toggle")) + " %"
    ),
    "deep": lambda own: f"{_sum(own, 'vectors'):,} vectors, {_sum(own, 'mismatches')} mismatches",
    "agreement": lambda own: str(own[-1].get("status")),
}
"""Summaries of a unit's records in each report, by name of the report."""


def _table(title: str, records: Records) -> Table:
    """Print the scalar fields of flat records, one row each."""
    columns = [
        name
        for name in dict.fromkeys(name for record in records for name in record)
        if name != "began" and not any(isinstance(record.get(name), dict) for record in records)
    ]
    table = Table(*columns, title=title)
    for record in records:
        table.add_row(
            *(
                f"{value:.4g}" if isinstance(value := record.get(name, ""), float) else escape(str(value))
                for name in columns
            )
        )
    return table
