"""Records of units: purpose, fields of the configuration, and ports, for people and programs."""

import inspect
import re
import warnings
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, get_args, get_type_hints

from amaranth.hdl import UnusedElaboratable

from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.golden.formats.records import to_dict
from bitpath.rtl.common.unit import Unit
from bitpath.rtl.flat import flat_ports, port_table
from bitpath.sim.engine.configure import PRESETS

ENTRY = re.compile(r"^(\w[\w, ]*) : (.*(?:\n +.*)*)", re.MULTILINE)
"""An entry of the attributes in a docstring: names, and text that continues in indented lines."""
ROLE = re.compile(r":\w+:`~?([^`]+)`|`+([^`]+)`+")


def unit_record(unit: Unit) -> dict[str, Any]:
    """Return name, machine, summary, folder and bench of a unit, and the fields of its configuration."""
    return {
        "name": unit.name,
        "machine": unit.machine,
        "summary": unit.summary,
        "folder": unit.room,
        "bench": unit.bench,
        "configuration": config_fields(unit.default_config),
    }


def unit_ports(unit: Unit) -> list[dict[str, Any]]:
    """Return the ports of the flat module in the default configuration, without clock and reset."""
    # The component is made for its signature alone.
    warnings.filterwarnings("ignore", category=UnusedElaboratable)
    return port_table(flat_ports(unit.build(unit.default_config), ()))


def config_fields(config: Any, path: str = "") -> list[dict[str, Any]]:
    """Return path, default, allowed values and meaning of each field, also of nested configurations.

    The values of numerics are the names of presets. ``allowed`` is None where the type does not list the values; then the
    meaning gives their range.
    """
    found: list[dict[str, Any]] = []
    kinds, meanings = get_type_hints(type(config)), _meanings(type(config))
    for field in fields(config):
        value = getattr(config, field.name)
        presets = {name: each.numerics for name, each in PRESETS.items() if type(each.numerics) is type(value)}
        if is_dataclass(value) and not presets and not isinstance(value, FloatFormat):
            found += config_fields(value, f"{path}{field.name}.")
            continue
        default = next((name for name, each in presets.items() if each == value), to_dict(value))
        allowed = list(presets) or _values(kinds[field.name])
        meaning = meanings.get(field.name, "")
        found.append({"field": path + field.name, "default": default, "allowed": allowed, "meaning": meaning})
    return found


def _values(kind: Any) -> list[Any] | None:
    """Return the values of an enumeration, or of one in a tuple, and of a flag. All other types give None."""
    if kind is bool:
        return [False, True]
    enums = [each for each in (kind, *get_args(kind)) if isinstance(each, type) and issubclass(each, Enum)]
    return [member.value for member in enums[0]] if enums else None


def _meanings(kind: type) -> dict[str, str]:
    """Return the meaning of each field from the docstrings of its class and of those that it extends."""
    texts: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        _, _, attributes = (inspect.getdoc(each) or "").partition("Attributes\n----------\n")
        texts |= {names: " ".join(text.split()) for names, text in ENTRY.findall(attributes)}
    plain = {names: ROLE.sub(lambda match: match[1] or match[2], text) for names, text in texts.items()}
    return {name: text for names, text in plain.items() for name in names.split(", ")}
