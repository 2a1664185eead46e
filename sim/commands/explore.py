"""``bitpath explore``: sweeps numerics and compares area with error."""

from pathlib import Path
from typing import Any

import click

from bitpath.sim.commands._click import Choice, Command, cluster_options, examples
from bitpath.sim.engine.options import FILE, MACHINES


@click.command(
    cls=Command,
    epilog=examples("bitpath explore --machine tensix --slice 16x128x16", "bitpath explore --no-area --data normal"),
)
@click.option(
    "--machine", "machines", multiple=True, type=Choice(MACHINES), help="One machine; all of them when not given."
)
@click.option("--data", multiple=True, type=Choice(["layer", "normal"]), help="Both when not given.")
@click.option(
    "--slice",
    "slice_",
    default="64x384x64",
    show_default=True,
    metavar="MxKxN",
    help="The first M rows, K of the contraction, N columns of the layer; random numbers have the same shape.",
)
@click.option("--liberty", type=FILE, help="Cells other than the generic ones.")
@click.option("--no-area", is_flag=True, help="Errors alone: no synthesis, no front and no picture.")
@cluster_options
def command(
    machines: tuple[str, ...],
    data: tuple[str, ...],
    slice_: str,
    liberty: Path | None,
    no_area: bool,
    cluster: Any,
) -> None:
    """Sweep the numerics that trade area for accuracy.

    Measures the error over the real layer and random numbers. Writes build/reports/explore.json, explore.png and explore.html. Every finished point is kept: a run after an interruption
    resumes.
    """
    from bitpath.sim.engine import paths
    from bitpath.sim.engine.results import write_records
    from bitpath.sim.engine.tools import require_extra
    from bitpath.sim.flows import outcome
    from bitpath.sim.flows.builds import counted_progress
    from bitpath.sim.study.explore import DATA, draw, explore, show_front, sweep
    from bitpath.sim.study.synth import Flow

    if not no_area:
        require_extra("plot")
    flow = None if no_area else Flow.of(liberty)
    points = [point for machine in machines or MACHINES for point in sweep(machine)]
    console = outcome.console()
    with counted_progress(console, "points and areas") as progress:
        records = explore(points, data or DATA, shape=slice_, flow=flow, cluster=cluster, progress=progress)
    reports = paths.reports()
    write_records(reports / "explore.json", records)
    if flow is not None:
        draw(points, records, flow.name, reports / "explore.png", reports / "explore.html")
    show_front(console, points, records)
