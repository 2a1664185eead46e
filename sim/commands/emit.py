"""``bitpath emit``: emits the Verilog of a configuration."""

from pathlib import Path
from typing import Any

import click

from bitpath.sim.commands._click import Command, examples
from bitpath.sim.engine.options import unit_options


@click.command(
    cls=Command,
    epilog=examples(
        "bitpath emit dot16 --stages 2 --out build/dot16",
        "bitpath emit systolic_array --rows 8 --cols 8 --flat --name my_array --out build/my_array",
        "bitpath emit quad_mx_dot --preset trainium3_quad_mx_aligned --flat --testbench --out build/dot",
        "bitpath emit --all --out build/verilog",
    ),
)
@click.argument("unit", required=False)
@click.option("--all", "every", is_flag=True, help="Every unit in its default configuration, each in its own folder.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Output folder; created if missing."
)
@click.option("--flat", is_flag=True, help="A port for each field, in a module and a file named like the unit.")
@click.option(
    "--testbench", is_flag=True, help="Also a self-checking Verilog testbench with golden vectors; needs --flat."
)
@click.option("--name", help="Name of the flat module and its file.")
@unit_options
def command(
    unit: str | None, every: bool, out: Path, flat: bool, testbench: bool, name: str | None, **settings: Any
) -> None:
    """Write the Verilog of a unit with its file list and its manifest.

    `bitpath units` lists the units that UNIT may be, and `bitpath units UNIT` the ports and the configuration of one.
    """
    from bitpath.rtl.emit import emit, emit_flat
    from bitpath.rtl.units import UNITS
    from bitpath.sim.engine.configure import chosen

    if every == (unit is not None):
        raise click.UsageError(f"name one unit or give --all; units are {', '.join(UNITS)}")
    if every and any(value is not None for value in settings.values()):
        raise click.UsageError("--all takes every unit's default configuration; give settings with one unit")
    if name is not None and (every or not flat):
        raise click.UsageError("--name names the module of one unit; give it with --flat and a unit")
    if testbench and not flat:
        raise click.UsageError("--testbench drives the flat module; give it with --flat")
    if testbench:
        # It runs a bench, which needs cocotb and a compiler.
        from bitpath.sim.campaigns.agreement import vectors
    for each in UNITS if unit is None else [unit]:
        # Check the whole configuration before writing anything.
        config, folder = chosen(each, **settings), out / each if every else out
        if flat:
            emitted = emit_flat(each, config, folder, name, vectors(each, config) if testbench else None)
        else:
            emitted = emit(each, config, folder)
        for file in (*emitted.files, *emitted.testbench, emitted.manifest):
            click.echo(file)
