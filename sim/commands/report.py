"""``bitpath report``: joins the testplans with the last results and the measurements of other commands."""

import sys
from collections.abc import Iterator

import click
from rich.text import Text

from bitpath.sim.commands._click import Command, Printer, examples, output_options
from bitpath.sim.engine import paths, results
from bitpath.sim.study.page import FOUND, REPORT, State, cell, columns, findings, gather, passed, tally
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
    from bitpath.sim.engine.results import write_records
    from bitpath.sim.study.page import write_page

    state = gather(load_plans())
    plan = ("unit", "item", "what", "tests", "runs", "compared", "status")
    printer.table(plan, _plans(state), "Testplans")
    printer.table(("unit", "items", "values compared", *FOUND), _units(state), "Units")
    stale = {f"{name}: {results.STALE}": flat for name, flat in state.stale.items()}
    for name, flat in (state.measured | stale).items():
        names = columns(flat)
        printer.table(names, ([cell(record.get(each, "")) for each in names] for record in flat), name)
    for file in state.damaged:
        printer.say(f"{paths.shown(file)} is not whole; nothing was taken from it")
    file = paths.reports() / f"{REPORT}.json"
    records = [
        {"unit": item.unit, "item": item.feature, "what": item.what, "test": test, **vars(result)}
        for item, found in state.items
        for test, result in found.items()
    ]
    write_records(file, records)
    printer.say(f"testplan items: {state.tally}; records: {paths.shown(file)}")
    printer.say(f"page: {paths.shown(write_page(state))}")
    printer.result(records)
    failed = strict and state.passed < len(state.items)
    if failed:
        printer.fail(f"testplan items: {state.tally}")
    sys.exit(failed)


def _plans(state: State) -> Iterator[tuple[Text | str, ...]]:
    for item, found in state.items:
        whole = results.over(found)
        numbers = (str(len(found)), str(whole.runs), f"{whole.compared:,}")
        yield item.unit, item.feature, item.what, *numbers, _judged(whole.status, whole.status == results.PASSED)


def _units(state: State) -> Iterator[tuple[Text | str, ...]]:
    """Yield a row for each unit: its plan, and findings of other commands."""
    for unit, items in state.by_unit().items():
        found = [result for _, result in items]
        compared = f"{sum(result.compared for result in found):,}"
        yield unit, _judged(tally(found), passed(found) == len(found)), compared, *findings(state.measured, unit)


def _judged(text: str, good: bool) -> Text:
    return Text(text, "green" if good else "bold red")
