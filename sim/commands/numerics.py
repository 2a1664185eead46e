"""``bitpath numerics``: what each machine is taken to compute, and on whose word; the README's tables are its output."""

import click


@click.command()
def command() -> None:
    """Print the numerics of every preset, and the fixed choices, with their sources, as Markdown."""
    from bitpath.golden.spec import trainium3
    from bitpath.sim.numerics_table import choices_table, presets_table

    click.echo(presets_table(list(trainium3.PRESETS.values())))
    click.echo()
    click.echo(choices_table(trainium3.CHOICES))
