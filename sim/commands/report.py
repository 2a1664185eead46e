"""``bitpath report``: joins the testplans with the last results and the measurements of other commands."""

import sys

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bitpath.sim.commands._click import Command, Printer, examples, output_options
from bitpath.sim.engine import paths, results
from bitpath.sim.engine.results import Records
from bitpath.sim.study.page.state import FOUND, REPORT, State, cell, columns, findings, gather
from bitpath.verif.kit.report import write_records
from bitpath.verif.kit.testplan import load_plans


@click.command(cls=Command, epilog=examples("bitpath report --strict --quiet", "bitpath report --json"))
@click.option("--strict", is_flag=True, help="Fail unless every item of every plan has passed.")
@output_options
def command(strict: bool, printer: Printer) -> None:
    """Join the testplans with the last results and measurements.

    Prints tests, reasons and results of each testplan item, and proofs and measurements of each unit; --json prints the records.
    Writes build/reports/report.json, a record for each test of each item, and build/reports/report.html, a page that also
    shows the runs of ``bitpath run``, with maps of their results.
    """
    from bitpath.sim.study.page.write import write_page

    state = gather(load_plans())
    console = Console(quiet=printer.silent)
    console.print(_plans(state))
    console.print(_units(state))
    for name, flat in state.measured.items():
        console.print(_table(name, flat))
    for name, flat in state.stale.items():
        console.print(_table(f"[bold red]{name}: {results.STALE}[/]", flat))
    for file in state.damaged:
        console.print(f"[red]{escape(paths.shown(file))} is not whole; nothing was taken from it[/]")
    file = paths.reports() / f"{REPORT}.json"
    records = [
        {"unit": item.unit, "item": item.id, "what": item.what, "test": test, **vars(result)}
        for item, found in state.items
        for test, result in found.items()
    ]
    write_records(file, records)
    console.print(f"{state.passed} of {len(state.items)} items passed; records: {paths.shown(file)}")
    console.print(f"page: {paths.shown(write_page(state))}", soft_wrap=True)
    printer.result(records)
    failed = strict and state.passed < len(state.items)
    if failed:
        printer.fail(f"{state.passed} of {len(state.items)} items passed")
    sys.exit(failed)


def _plans(state: State) -> Table:
    table = Table("unit", "item", "what", "tests", "runs", "compared", "status", title="Testplans")
    for item, found in state.items:
        whole = results.over(found)
        numbers = (str(len(found)), str(whole.runs), f"{whole.compared:,}")
        colour = "green" if whole.status == results.PASSED else "bold red"
        table.add_row(item.unit, item.id, escape(item.what), *numbers, f"[{colour}]{whole.status}[/]")
    return table


def _units(state: State) -> Table:
    """Return a row for each unit: its plan, and findings of other commands."""
    table = Table("unit", "items passed", "values compared", *FOUND, title="Units")
    for unit, items in state.by_unit().items():
        passed = sum(result.status == results.PASSED for _, result in items)
        colour = "green" if passed == len(items) else "bold red"
        compared = sum(result.compared for _, result in items)
        cells = findings(state.measured, unit)
        table.add_row(unit, f"[{colour}]{passed} of {len(items)}[/]", f"{compared:,}", *cells)
    return table


def _table(title: str, records: Records) -> Table:
    """Return a table of the scalar fields of flat records, one row each."""
    names = columns(records)
    table = Table(*names, title=title)
    for record in records:
        table.add_row(*(escape(cell(record.get(name, ""))) for name in names))
    return table
