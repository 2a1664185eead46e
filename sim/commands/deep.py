"""``bitpath deep``: compares units with golden on large numbers of vectors, random and exhaustive."""

import time
from typing import Any

import click

from bitpath.sim.commands._click import Command, cluster_options, examples
from bitpath.sim.engine.options import SIMULATORS

VECTORS = 100_000_000
QUICK_VECTORS = 1_000_000


@click.command(
    cls=Command,
    epilog=examples(
        "bitpath deep --list",
        "bitpath deep volume --quick",
        "bitpath deep volume-dot16 --replay 0 3 17",
    ),
)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "--quick", is_flag=True, help=f"{QUICK_VECTORS:,} random vectors a machine, and one block of every sweep."
)
@click.option("--vectors", type=click.IntRange(1), help=f"Random vectors of each machine.  [default: {VECTORS:,}]")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the random vectors.")
@click.option(
    "--replay",
    type=click.IntRange(0),
    nargs=3,
    metavar="BLOCK BATCH VECTOR",
    help="Run only one vector of one task in a bench, with waves.",
)
@click.option(
    "--sim", "simulator", type=SIMULATORS, default="verilator", show_default=True, help="Simulator, with --replay."
)
@click.option("--list", "listed", is_flag=True, help="List the tasks and exit.")
@cluster_options
def command(
    names: tuple[str, ...],
    quick: bool,
    vectors: int | None,
    seed: int,
    replay: tuple[int, int, int] | None,
    simulator: str,
    listed: bool,
    cluster: Any,
) -> None:
    """Compare units with golden on 10^8 random vectors and on whole ranges.

    C++ plays the vectors on the units' Verilog. NAME is a task, or a prefix of task names: volume, sweep; all tasks by default. Complete blocks are kept, and an interrupted run
    resumes. Updates the tasks' records in build/reports/deep.json; with fewer vectors than the default, in
    build/reports/deep_quick.json.
    """
    from bitpath.sim.campaigns.volume import run_task, show, show_mismatches, show_tasks
    from bitpath.sim.campaigns.volume_tasks import chosen
    from bitpath.sim.engine import paths, results
    from bitpath.sim.engine.errors import SimulationError
    from bitpath.sim.engine.results import began_since, merge
    from bitpath.sim.flows.builds import counted_progress
    from bitpath.sim.flows.outcome import console as make_console

    if quick and vectors is not None:
        raise click.UsageError("--quick and --vectors go one at a time")
    tasks, console = chosen(names), make_console()
    if listed:
        show_tasks(console, tasks)
        return
    if replay is not None:
        _replay(tasks, seed, replay, simulator)
        return
    count = QUICK_VECTORS if quick else vectors or VECTORS
    # Quick results are no figures and must not replace them.
    file = paths.reports() / ("deep_quick.json" if count < VECTORS else "deep.json")
    records, began, since = [], time.time(), results.newest_source()
    for task in tasks:
        with counted_progress(console, task.name) as progress:
            most = 1 if quick and task.blocks else None
            found = run_task(task, vectors=count, seed=seed, blocks=most, cluster=cluster, progress=progress)
        records.append(found | {"began": began})
        # Keep complete results when a later one fails.
        merge(records[-1:], file, keep=began_since(since))
    show(console, records)
    show_mismatches(console, records)
    console.print(f"records: {paths.shown(file)}")
    if wrong := [record["name"] for record in records if record["mismatches"]]:
        raise SimulationError(f"{', '.join(wrong)}: unit and golden differ")
    if few := [record["name"] for record in records if record["vectors"] < record["asked"]]:
        raise SimulationError(f"{', '.join(few)}: fewer vectors were compared than requested")


def _replay(tasks: list[Any], seed: int, place: tuple[int, int, int], simulator: str) -> None:
    from bitpath.sim.campaigns.volume import replay
    from bitpath.sim.engine import paths
    from bitpath.verif.kit.volume import VolumeTask

    if len(tasks) != 1 or not isinstance(tasks[0], VolumeTask):
        raise click.UsageError("--replay goes with one task that has a unit")
    result = replay(tasks[0], seed, *place, simulator)
    click.echo(f"equal to golden, {result.compared} value compared")
    click.echo(f"wave: {paths.shown(result.wave)}" if result.wave else f"log: {paths.shown(result.folder / 'run.log')}")
