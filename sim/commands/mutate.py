"""``bitpath mutate``: small faults, which the tests of what they are in must notice."""

from typing import Any

import click


@click.command()
@click.argument("targets", metavar="[TARGET]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every datapath file of the RTL, and golden.")
@click.option("--golden", is_flag=True, help="Every golden model.")
@click.option("--again", is_flag=True, help="Try once more what an earlier run had no time for.")
@click.option("--count", type=click.IntRange(min=1), help="Mutants a file; 200, of golden 10, when not given.")
@click.option("--seed", type=int, default=20261122, show_default=True, help="Of the draw and of the bench.")
def command(
    targets: tuple[str, ...], everything: bool, golden: bool, again: bool, count: int | None, seed: int
) -> None:
    """Put faults of one bit into each TARGET, an RTL file such as rtl/common/arithmetic/normalize or a unit, one at a time, and run the
    unit's own bench on each; into a golden TARGET, such as golden/arrays/codec.py, faults of one line, and run its tests.

    Prints how many died, were proved equivalent and survived, and writes build/reports/mutation.json. What is known already
    is not worked out again. Fails where fewer than 95 % of those of an RTL file that are no equals die, or one of any file
    lives without a reason. A row of fewer mutants than there would be without --count is printed, and does not get into
    mutation.json.
    """
    from bitpath.sim.campaigns.mutation.rows import Rows
    from bitpath.sim.campaigns.mutation.sweep import chosen, sweep
    from bitpath.sim.campaigns.mutation.table import complaints, show_mutation
    from bitpath.sim.engine import tools
    from bitpath.sim.engine.errors import SimulationError
    from bitpath.sim.flows import results

    found: list[dict[str, Any]] = []
    failures: list[str] = []
    console = results.console()
    tasks = chosen(targets, everything=everything, golden=golden, again=again)
    if any(task.is_rtl for task in tasks):
        tools.require_extra("formal")
        tools.require_simulator("verilator")
    usual = {task.target: task.count for task in tasks}
    rows = Rows(target for target, most in usual.items() if count is None or count >= most)
    try:
        for record in sweep(tasks, count, seed, console, failures):
            found.append(record)
            if record["mutants"] >= min(usual[record["target"]], record["possible"]):
                rows.add(record)
    finally:
        if found:
            show_mutation(console, found)
    if wrong := failures + complaints(found):
        raise SimulationError("\n".join(wrong))
