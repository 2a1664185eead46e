"""``bitpath mutate``: inserts small faults, which the tests of the mutated file must detect."""

from typing import Any

import click

from bitpath.sim.commands._click import Command, cluster_options, examples


@click.command(
    cls=Command, epilog=examples("bitpath mutate rtl/common/arithmetic/normalize", "bitpath mutate dot16 --count 20")
)
@click.argument("targets", metavar="[TARGET]...", nargs=-1)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Every datapath file of the RTL, golden, and what compares and reports results.",
)
@click.option("--golden", is_flag=True, help="Every file of golden, compiled loops too.")
@click.option("--again", is_flag=True, help="Retry mutants that timed out in an earlier run.")
@click.option("--count", type=click.IntRange(min=1), help="Mutants a component; 200, of golden 10, when not given.")
@click.option("--seed", type=int, default=20261122, show_default=True, help="Seed of the selection and of the bench.")
@cluster_options
def command(
    targets: tuple[str, ...],
    everything: bool,
    golden: bool,
    again: bool,
    count: int | None,
    seed: int,
    cluster: Any,
) -> None:
    """Insert small faults, which the tests of the mutated file must detect.

    Inserts single-bit faults into each TARGET, a component such as Round, or the components of an RTL file such as
    rtl/common/arithmetic/normalize or of a unit, one at a time, and runs a unit's bench on each; for a golden TARGET, or one that
    compares results, such as sim/flows/outcome, inserts faults into single lines and runs its tests. A faulty compiled loop is
    compiled anew, with bounds checks. Strings, annotations, decorators and error texts get no faults.

    Prints how many mutants died, were proved equivalent and survived, and writes build/reports/mutation.json. Known verdicts are
    kept. Fails when fewer than 95 % of the nonequivalent mutants of a component die, or a mutant of any file survives without a
    reason. A row of fewer mutants than without --count is printed, but not written to mutation.json.
    """
    from bitpath.sim.campaigns.mutation.sweep import Rows, chosen, sweep
    from bitpath.sim.campaigns.mutation.verdicts import complaints, show_mutation
    from bitpath.sim.engine import tools
    from bitpath.sim.engine.errors import SimulationError
    from bitpath.sim.flows import outcome

    found: list[dict[str, Any]] = []
    failures: list[str] = []
    console = outcome.console()
    tasks = chosen(targets, everything=everything, golden=golden, again=again)
    if any(task.is_rtl for task in tasks):
        tools.require_extra("formal")
        tools.require_simulator("verilator")
    usual = {task.target: task.count for task in tasks}
    rows = Rows(target for target, most in usual.items() if count is None or count >= most)
    try:
        for record in sweep(tasks, count, seed, console, failures, cluster):
            found.append(record)
            if record["mutants"] >= min(usual[record["target"]], record["possible"]):
                rows.add(record)
    finally:
        if found:
            show_mutation(console, found)
    if wrong := failures + complaints(found):
        raise SimulationError("\n".join(wrong))
