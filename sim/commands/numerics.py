"""``bitpath numerics``: prints each machine's numerics with sources, in the form of the tables in docs/machines."""

import click

from bitpath.sim.commands._click import Command, Printer, examples, output_options


@click.command(cls=Command, epilog=examples("bitpath numerics", "bitpath numerics --json"))
@output_options
def command(printer: Printer) -> None:
    """Print the numerics of every machine with the source of each rule.

    Prints Markdown tables of the presets and of the choices that are fixed.
    """
    from bitpath.sim.flows.machines import RECORDS
    from bitpath.sim.study.numerics_table import numerics_rows, numerics_table

    tables = [(name, rows) for name, machine in RECORDS.items() for rows in machine.numerics]
    printer.say("\n\n".join(numerics_table(rows) for _, rows in tables))
    named = [(name, *numerics_rows(rows)) for name, rows in tables]
    printer.result(
        [{"machine": name, **dict(zip(headings, row, strict=True))} for name, headings, cells in named for row in cells]
    )
