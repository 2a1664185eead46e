"""``bitpath rates``: prints each machine's rates, those declared and those computed from them."""

import click

from bitpath.sim.commands._click import Choice, Command, Printer, examples, output_options
from bitpath.sim.engine.machines import MACHINES


@click.command(cls=Command, epilog=examples("bitpath rates", "bitpath rates tensix", "bitpath rates trainium3 --json"))
@click.argument("machine", required=False, type=Choice(MACHINES))
@output_options
def command(machine: str | None, printer: Printer) -> None:
    """Print the rates of a machine, or of all machines, with their sources.

    Prints a Markdown table for each machine: declared numbers, and rates computed from them beside published figures.
    """
    from dataclasses import asdict

    from bitpath.golden.machines import MACHINES as KNOWN
    from bitpath.sim.study.rates_text import rates_text

    tables = {name: KNOWN[name].rates() for name in (MACHINES if machine is None else (machine,))}
    printer.say("\n\n".join(f"{name}\n\n{rates_text(rows)}" for name, rows in tables.items()))
    printer.result([{"machine": name, **asdict(row)} for name, rows in tables.items() for row in rows])
