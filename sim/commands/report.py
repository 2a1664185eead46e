"""``bitpath report``: the testplans joined with the last results, and what the flows measured."""

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from bitpath.sim import paths, results
from bitpath.verif.kit.report import write_records
from bitpath.verif.kit.testplan import load_plans

_STYLES = {results.PASSED: "green", results.FAILED: "bold red", results.SKIPPED: "yellow", results.MISSING: "yellow"}
REPORT = "testplan.json"


@click.command()
def command() -> None:
    """Print what is tested, why, and how it went; write the same to build/reports/testplan.json."""
    latest = results.latest_results()
    records = []
    table = Table("unit", "item", "what", "tests", "status", title="Testplans")
    for item in load_plans():
        found = results.outcomes(item, latest)
        status = results.worst(found)
        records += [
            {"unit": item.unit, "item": item.id, "test": outcome.test, "status": outcome.status} for outcome in found
        ]
        table.add_row(item.unit, item.id, item.what, str(len(found)), f"[{_STYLES[status]}]{status}[/]")
    console = Console()
    console.print(table)
    for file, measured in results.run_reports().items():
        if file.name != REPORT:
            console.print(_flow_table(file, measured))
    write_records(paths.reports() / REPORT, records)
    console.print(f"{len(latest)} tests have results; records: {paths.shown(paths.reports() / REPORT)}")


def _flow_table(file: Path, records: list[dict[str, Any]]) -> Table:
    """The scalars of flat records, one row each."""
    columns = list(
        dict.fromkeys(name for record in records for name, value in record.items() if not isinstance(value, dict))
    )
    table = Table(*columns, title=file.stem)
    for record in records:
        table.add_row(
            *(f"{value:.4g}" if isinstance(value := record.get(name, ""), float) else str(value) for name in columns)
        )
    return table
