"""``bitpath numerics``: what each machine is taken to compute, and on whose word; the README's tables are its output."""

import click


@click.command()
def command() -> None:
    """Print the numerics of every preset, and the fixed choices, with their sources, as Markdown."""
    from bitpath.golden.spec import aie_ml_v2_numerics, tensix_numerics, trainium3
    from bitpath.sim.numerics_table import choices_table, presets_table

    tables = []
    for machine in (trainium3, tensix_numerics, aie_ml_v2_numerics):
        tables += [presets_table(list(machine.PRESETS.values())), choices_table(machine.CHOICES)]
    click.echo("\n\n".join(tables))
