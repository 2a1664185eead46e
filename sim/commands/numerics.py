"""``bitpath numerics``: prints each machine's numerics with sources, in the form of the tables in docs/machines."""

import click


@click.command()
def command() -> None:
    """Print the numerics of every preset, and the fixed choices, with their sources, as Markdown."""
    from bitpath.sim.flows.machines import RECORDS
    from bitpath.sim.study.numerics_table import numerics_table

    click.echo("\n\n".join(numerics_table(rows) for machine in RECORDS.values() for rows in machine.numerics))
