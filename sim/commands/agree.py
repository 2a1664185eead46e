"""``bitpath agree``: runs units through every engine that supports them; all engines must give the same bits."""

import sys
import time
from dataclasses import asdict
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from bitpath.sim.commands._click import Command, examples
from bitpath.sim.engine import paths, results
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.reports import began_since, merge

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
def command(units: tuple[str, ...], steps: int, seed: int, no_netlist: bool) -> None:
    """Give four engines the same stimulus and compare their bits.

    The engines are Amaranth's simulator, Icarus, Verilator and the netlist of gates; the stimulus is that of the bench of each
    of UNITS, of all by default. Prints a table, updates the units' records in build/reports/agreement.json, and fails when a bit differs. Each unit that agreed
    is kept at once: a repeated call with the same sources, tools, steps and seed does not simulate it again.
    """
    from bitpath.rtl.common.config import digest
    from bitpath.rtl.units import UNITS, find_unit
    from bitpath.sim.campaigns.agreement.agree import ENGINES, NETLIST
    from bitpath.sim.campaigns.agreement.known import agreement
    from bitpath.sim.engine.tools import require_extra

    chosen = [find_unit(name) for name in units or UNITS]
    engines = tuple(engine for engine in ENGINES if engine != NETLIST or not no_netlist)
    if not no_netlist:
        # Check for Yosys before hours of other work.
        require_extra("synth")
    console = Console()
    began, since = time.time(), results.newest_source()
    records, failures = [], []
    for unit in chosen:
        config = unit.agreed_config
        record: dict[str, Any] = {"unit": unit.name, "digest": digest(unit.name, config), "began": began}
        try:
            found = agreement(unit.name, config, engines=engines, steps=steps, seed=seed)
        except SimulationError as error:
            failures.append(str(error))
            failure = failures[-1].splitlines()[0]
            record |= {"status": FAILED, "error": failure}
            console.print(failure, style="bold red", markup=False)
        else:
            record |= {"status": AGREES, **asdict(found)}
            console.print(f"{unit.name}: {found.values:,} values in {found.steps:,} steps agree")
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
