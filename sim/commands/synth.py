"""``bitpath synth``: synthesises units for area and longest path."""

from pathlib import Path
from typing import Any

import click

from bitpath.sim.commands._click import Command, cluster_options, examples
from bitpath.sim.engine.options import FILE, unit_options


@click.command(
    cls=Command, epilog=examples("bitpath synth dot16 --stages 2", "bitpath synth quad_mx_dot fidelity_multiplier")
)
@click.argument("units", metavar="[UNIT]...", nargs=-1)
@click.option("--liberty", type=FILE, help="Liberty file of the cells; the project's generic cells when not given.")
@unit_options
@cluster_options
def command(units: tuple[str, ...], liberty: Path | None, cluster: Any, **settings: Any) -> None:
    """Synthesise units for area and longest path.

    Takes each UNIT in its default configuration, or one with settings; by default the units that the pages quote. Prints
    gate equivalents and the longest path, writes build/reports/synth.json and appends to its trend.
    """
    from bitpath.sim.engine import paths
    from bitpath.sim.engine.configure import chosen
    from bitpath.sim.engine.results import write_records
    from bitpath.sim.flows import outcome
    from bitpath.sim.flows.builds import counted_progress
    from bitpath.sim.study.synth import (
        QUOTED,
        Design,
        Flow,
        append_trend,
        last_results,
        show_synth,
        synth_records,
        trend_file,
    )

    if len(units) != 1 and any(value is not None for value in settings.values()):
        raise click.UsageError("settings go with one unit")
    designs = [Design(unit, unit, chosen(unit, **settings)) for unit in units] or list(QUOTED)
    flow = Flow.of(liberty)
    before = last_results(trend_file())
    console = outcome.console()
    found: dict[int, dict[str, Any]] = {}
    try:
        with counted_progress(console, "synthesising") as progress:
            progress(0, len(designs))
            for index, record in synth_records(designs, flow, cluster):
                found[index] = record
                progress(len(found), len(designs))
                # Keep complete results when a later one fails.
                write_records(paths.reports() / "synth.json", [found[each] for each in sorted(found)])
                append_trend(trend_file(), record, before.get((record["digest"], record["flow"])))
    finally:
        if found:
            show_synth(console, [(designs[each], found[each]) for each in sorted(found)], before)
