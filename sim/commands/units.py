"""``bitpath units``: lists the units, or shows one with its configuration and its ports."""

from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bitpath.sim.commands._click import Command, Printer, examples, output_options


@click.command(
    cls=Command, epilog=examples("bitpath units", "bitpath units dot16", "bitpath units systolic_array --json")
)
@click.argument("unit", required=False)
@output_options
def command(unit: str | None, printer: Printer) -> None:
    """List the units, or show one with its configuration and its ports.

    UNIT is a name of the list. The ports are those of `bitpath emit UNIT --flat` in the default configuration.
    """
    from bitpath.rtl.units import UNITS, find_unit
    from bitpath.sim.flows import results
    from bitpath.sim.study.unit_record import unit_ports, unit_record

    console = results.console(quiet=printer.silent)
    if unit is None:
        records = [unit_record(each) for each in UNITS.values()]
        _print(console, records, "name", "machine", "summary", "settings")
        printer.result(records)
        return
    found = find_unit(unit)
    record = unit_record(found) | {"ports": unit_ports(found)}
    for name in ("name", "machine", "summary", "folder", "bench"):
        console.print(f"{name:10}{record[name]}", markup=False, highlight=False)
    console.print("\nConfiguration")
    _print(console, record["configuration"], "field", "default", "meaning", "allowed")
    console.print("\nPorts of the flat module, besides clk and rst of a clocked unit")
    _print(console, record["ports"], "direction", "bits", "name", "field", "values")
    printer.result(record)


def _print(console: Console, records: list[dict[str, Any]], *columns: str) -> None:
    table = Table(*columns, box=None, pad_edge=False)
    for record in records:
        table.add_row(*(escape(_text(record, column)) for column in columns))
    console.print(table)


def _text(record: dict[str, Any], column: str) -> str:
    """Return a cell; settings are the fields of a configuration with their defaults."""
    if column == "settings":
        return ", ".join(f"{each['field']}={_text(each, 'default')}" for each in record["configuration"])
    value = record[column]
    if isinstance(value, dict):
        return ", ".join(f"{code} = {name}" for name, code in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
