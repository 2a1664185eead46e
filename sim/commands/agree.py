"""``bitpath agree``: runs units through every engine that supports them; all engines must give the same bits."""

import sys
import time
from dataclasses import asdict
from typing import Any

import click
from rich.table import Table

from bitpath.sim.commands._click import Command, cluster_options, examples
from bitpath.sim.engine import paths, results
from bitpath.sim.engine.errors import SimulationError

REPORT = "agreement"
AGREES, FAILED = "agrees", "failed"


@click.command(
    cls=Command, epilog=examples("bitpath agree dot16 psum --steps 50", "bitpath agree --no-netlist --seed 7")
)
@click.argument("units", nargs=-1)
@click.option(
    "--steps",
    type=click.IntRange(1),
    default=30,
    show_default=True,
    help="Steps of each test of a bench; more if an output stream has no transfer in them.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the benches.")
@click.option("--no-netlist", is_flag=True, help="Skip the netlist of gates, which needs Yosys.")
@cluster_options
def command(units: tuple[str, ...], steps: int, seed: int, no_netlist: bool, cluster: Any) -> None:
    """Give four engines the same stimulus and compare their bits.

    The engines are Amaranth's simulator, Icarus, Verilator and the netlist of gates; the stimulus is that of the bench of each
    of UNITS, by default of all but those that are too large for a netlist. Prints a table, updates the units' records in
    build/reports/agreement.json, and fails when a bit differs. Each unit that agreed is kept at once: a repeated call with the same
    sources, tools, steps and seed does not simulate it again.
    """
    from bitpath.rtl.common.config import digest
    from bitpath.rtl.units import UNITS, find_unit
    from bitpath.sim.campaigns.agreement import COMPARED_UNITS, ENGINES, NETLIST, agreements
    from bitpath.sim.engine.results import began_since, merge
    from bitpath.sim.engine.tools import require_extra
    from bitpath.sim.flows.builds import counted
    from bitpath.sim.flows.outcome import console as make_console

    chosen = list(dict.fromkeys(find_unit(name).name for name in units or COMPARED_UNITS))
    for name in chosen:
        if reason := UNITS[name].uncompared:
            raise click.UsageError(f"{name} is not compared: {reason}")
    engines = tuple(engine for engine in ENGINES if engine != NETLIST or not no_netlist)
    if not no_netlist:
        # Check for Yosys before hours of other work.
        require_extra("synth")
    console = make_console()
    began, since = time.time(), results.newest_source()
    records: list[dict[str, Any]] = []
    failures: list[str] = []
    found = agreements(chosen, engines=engines, steps=steps, seed=seed, cluster=cluster)
    for unit, agreed in counted(console, "units", found, len(chosen)):
        record: dict[str, Any] = {"unit": unit, "digest": digest(unit, UNITS[unit].agreed_config), "began": began}
        if isinstance(agreed, SimulationError):
            failures.append(str(agreed))
            failure = failures[-1].splitlines()[0]
            record |= {"status": FAILED, "error": failure}
            console.print(failure, style="bold red", markup=False)
        else:
            record |= {"status": AGREES, **asdict(agreed)}
            console.print(f"{unit}: {agreed.values:,} values in {agreed.steps:,} steps agree")
        records.append(record)
        # Keep complete results when a later unit fails.
        merge([record], paths.reports() / f"{REPORT}.json", "unit", began_since(since))
    table = Table("unit", "engines", "steps", "values each", "seed", title="Agreement of engines")
    for record in records:
        if record["status"] == AGREES:
            counts = (f"{record['steps']:,}", f"{record['values']:,}")
            table.add_row(record["unit"], ", ".join(record["engines"]), *counts, str(record["seed"]))
        else:
            table.add_row(record["unit"], f"[bold red]{FAILED}[/]")
    console.print(table)
    for failure in failures:
        click.echo(f"bitpath: {failure}", err=True)
    sys.exit(bool(failures))
