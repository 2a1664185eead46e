"""``bitpath units, emit`` and ``waves``: the units, their Verilog and their waves."""

import subprocess
from pathlib import Path
from typing import Any

import click

from bitpath.sim.commands._click import Choice, Command, Printer, examples, output_options
from bitpath.sim.engine import paths, tools
from bitpath.sim.engine.options import MissingToolError, unit_options


@click.command(
    cls=Command, epilog=examples("bitpath units", "bitpath units dot16", "bitpath units systolic_array --json")
)
@click.argument("unit", required=False)
@output_options
def units_command(unit: str | None, printer: Printer) -> None:
    """List the units, or show one with its configuration and its ports.

    UNIT is a name of the list. The ports are those of `bitpath emit UNIT --flat` in the default configuration.
    """
    from bitpath.rtl.units import UNITS, find_unit
    from bitpath.sim.study.unit_record import unit_ports, unit_record

    if unit is None:
        records = [unit_record(each) for each in UNITS.values()]
        _print(printer, records, "name", "machine", "summary", "settings")
        printer.result(records)
        return
    found = find_unit(unit)
    record = unit_record(found) | {"ports": unit_ports(found)}
    for name in ("name", "machine", "summary", "folder", "bench"):
        printer.say(f"{name:10}{record[name]}")
    printer.say("\nConfiguration")
    _print(printer, record["configuration"], "field", "default", "meaning", "allowed")
    printer.say("\nPorts of the flat module, besides clk and rst of a clocked unit")
    _print(printer, record["ports"], "direction", "bits", "name", "field", "values")
    printer.result(record)


def _print(printer: Printer, records: list[dict[str, Any]], *columns: str) -> None:
    printer.table(columns, ([_text(record, column) for column in columns] for record in records))


def _text(record: dict[str, Any], column: str) -> str:
    """Return a cell; settings are the fields of a configuration with their defaults."""
    if column == "settings":
        return ", ".join(f"{each['field']}={_text(each, 'default')}" for each in record["configuration"])
    value = record[column]
    if isinstance(value, dict):
        return ", ".join(f"{code} = {name}" for name, code in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)


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
def emit_command(
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


VIEWERS: dict[str, tuple[str, ...]] = {"gtkwave": (), "surfer": ("--command-file",)}
"""Viewers, and the option of each that takes the file."""


@click.command(
    cls=Command, epilog=examples("bitpath waves quad_mx_pe", "bitpath waves dot16 --no-open", "bitpath waves my_dot")
)
@click.argument("unit")
@click.option("--viewer", type=Choice(list(VIEWERS)), default="gtkwave", show_default=True)
@click.option("--open/--no-open", "opened", default=True, help="Open the viewer, or only write its file.")
def waves_command(unit: str, viewer: str, opened: bool) -> None:
    """Open the last wave of a unit in a viewer.

    UNIT may also be the top module of a design that bitpath check ran. The wave is shown from its first mismatch on. Signals
    are grouped by stage, codes are numbers, and golden's values are beside the outputs.
    """
    from bitpath.sim.study.waves import last_wave, write_command_file, write_save_file

    wave = last_wave(unit)
    file = (write_command_file if viewer == "surfer" else write_save_file)(unit, wave)
    click.echo(f"wave: {paths.shown(wave)}\nsave file: {paths.shown(file)}")
    if not opened:
        return
    program = tools.find(viewer)
    if program is None:
        raise MissingToolError(f"{viewer} not found; open {paths.shown(file)} with it")
    # Surfer looks for number formats in its working folder.
    done = subprocess.run([str(program), *VIEWERS[viewer], file.name], cwd=wave.parent, check=False)
    if done.returncode:
        raise OSError(
            f"{viewer} ended with status {done.returncode}; is there a display? The file is {paths.shown(file)}"
        )
