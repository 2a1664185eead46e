"""``bitpath rates``: prints each machine's rates, those declared and those computed from them."""

from typing import TYPE_CHECKING

import click

from bitpath.sim.commands._click import Choice, Command, Printer, examples, output_options
from bitpath.sim.engine.options import MACHINES

if TYPE_CHECKING:
    from bitpath.golden.formats.sources import Rate


@click.command(
    cls=Command, extra=None, epilog=examples("bitpath rates", "bitpath rates tensix", "bitpath rates trainium3 --json")
)
@click.argument("machine", required=False, type=Choice(MACHINES))
@output_options
def command(machine: str | None, printer: Printer) -> None:
    """Print the rates of a machine, or of all machines, with their sources.

    Prints a table for each machine, declared numbers and rates computed from them beside published figures, and the
    documents that the sources name.
    """
    from dataclasses import asdict

    from bitpath.golden.machines import MACHINES as KNOWN
    from bitpath.sim.study.numerics_table import documents

    tables = {name: KNOWN[name].rates() for name in (MACHINES if machine is None else (machine,))}
    headings = ("quantity", "value", "unit", "computed from", "published", "standing", "source")
    for name, rows in tables.items():
        printer.table(headings, map(_cells, rows), name)
    sources = (row.source.where for rows in tables.values() for row in rows if row.source)
    printer.table(("document", "title"), documents(sources))
    printer.result([{"machine": name, **asdict(row)} for name, rows in tables.items() for row in rows])


def _cells(rate: "Rate") -> tuple[str, ...]:
    standing = (rate.source.kind, rate.source.where) if rate.source else ("", "")
    return rate.quantity, f"{rate.value:.8g}", rate.unit, rate.formula or "declared", rate.published, *standing
