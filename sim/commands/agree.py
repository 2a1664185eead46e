"""``bitpath agree``: units through every engine that can run them, which must give the same bits."""

import sys
from dataclasses import asdict

import click
from rich.console import Console
from rich.table import Table

from bitpath.sim import paths
from bitpath.sim.errors import SimulationError
from bitpath.verif.kit.report import write_records

REPORT = "agreement"


@click.command()
@click.argument("units", nargs=-1)
@click.option(
    "--steps", type=click.IntRange(1), default=30, show_default=True, help="At most so many of each test of a bench."
)
@click.option("--seed", type=int, help="Of the benches; drawn and printed when not given.")
@click.option("--no-netlist", is_flag=True, help="Without the netlist of gates, which needs Yosys.")
def command(units: tuple[str, ...], steps: int, seed: int | None, no_netlist: bool) -> None:
    """Give Amaranth's simulator, Icarus, Verilator and the netlist what the bench of each of UNITS gives; all where none is named.

    Prints a table, writes build/reports/agreement.json, and fails when a bit differs.
    """
    from bitpath.rtl.units import UNITS, find_unit
    from bitpath.sim.agree import agree, netlist

    chosen = [find_unit(name) for name in units or UNITS]
    engines = tuple(engine for engine in agree.ENGINES if engine != agree.NETLIST or not no_netlist)
    if not no_netlist:
        # That Yosys is missing is said before hours of other work.
        netlist.emitter()
    console = Console()
    records, failures = [], []
    for unit in chosen:
        try:
            found = agree.agree(unit.name, unit.config_type(), engines=engines, steps=steps, seed=seed)
        except SimulationError as error:
            failures.append(str(error))
            console.print(f"[bold red]{unit.name} differs[/]")
            continue
        records.append(asdict(found))
        # What is complete is not lost when a later unit fails.
        write_records(paths.reports() / f"{REPORT}.json", records)
        console.print(f"{unit.name}: {found.values:,} values in {found.steps:,} steps agree")
    table = Table("unit", "engines", "steps", "values each", "silent", "seed", title="Agreement of engines")
    for record in records:
        counts = (f"{record['steps']:,}", f"{record['values']:,}")
        table.add_row(
            record["unit"], ", ".join(record["engines"]), *counts, " ".join(record["silent"]), str(record["seed"])
        )
    console.print(table)
    for failure in failures:
        click.echo(f"bitpath: {failure}", err=True)
    sys.exit(bool(failures))
