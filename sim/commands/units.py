"""``bitpath units``: lists the units, or shows one with its configuration and its ports."""

from typing import Any

import click

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
