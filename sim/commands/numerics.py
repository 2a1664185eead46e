"""``bitpath numerics``: prints what each machine computes, with sources, as the tables of docs/machines."""

import click


@click.command()
def command() -> None:
    """Print the numerics of every preset, and the fixed choices, with their sources, as Markdown."""
    from bitpath.sim.flows.machines import RECORDS
    from bitpath.sim.study.numerics_table import numerics_table

    click.echo("\n\n".join(numerics_table(rows) for machine in RECORDS.values() for rows in machine.numerics))
