"""``bitpath numerics``: what each machine is taken to compute, and on whose word; the README's tables are its output."""

import click


@click.command()
def command() -> None:
    """Print the numerics of every preset, and the fixed choices, with their sources, as Markdown."""
    from bitpath.golden.aie_ml_v2.declarations import numerics as aie_ml_v2_numerics
    from bitpath.golden.tensix.declarations import numerics as tensix_numerics
    from bitpath.golden.trainium3.declarations import quad_mx as trainium3
    from bitpath.golden.trainium3.declarations import rates as trainium3_rates
    from bitpath.golden.trainium3.declarations import vector as trainium3_vector
    from bitpath.sim.study.numerics_table import choices_table, presets_table

    tables = [presets_table(list(trainium3.PRESETS.values())), choices_table(trainium3.CHOICES)]
    # These are of different dataclasses, so that none shows where it differs from the first.
    tables += [presets_table([preset]) for preset in trainium3_vector.PRESETS.values()]
    tables.append(choices_table(trainium3_vector.CHOICES))
    tables.append(presets_table([trainium3_rates.TRAINIUM2, trainium3_rates.TRAINIUM3]))
    for machine in (tensix_numerics, aie_ml_v2_numerics):
        tables += [presets_table(list(machine.PRESETS.values())), choices_table(machine.CHOICES)]
    click.echo("\n\n".join(tables))
