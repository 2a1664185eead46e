"""Units as Markdown: purpose, configuration, latency, and a table of their ports from the component's signature."""

import inspect
import re
import sys
from dataclasses import fields, is_dataclass
from typing import Any

from amaranth.hdl import Shape, ShapeCastable
from amaranth.lib import data, stream, wiring

from bitpath.rtl.common.unit import Unit
from bitpath.rtl.units import UNITS
from parts.records import markdown

SECTION = re.compile(r"\n[A-Z]\w+\n-{3,}")
ROLE = re.compile(r":\w+:`~?([^`]+)`")
FIELDS_SHOWN = 8


def _fields(shape: Any) -> str:
    """Return the fields of a layout, lowest first."""
    layout = shape if isinstance(shape, data.Layout) else None
    if layout is None and isinstance(shape, type) and issubclass(shape, data.Struct | data.Union):
        layout = data.Layout.cast(shape)
    if isinstance(layout, data.StructLayout | data.UnionLayout):
        names = [f"`{name}`&nbsp;{Shape.cast(each).width}" for name, each in layout.members.items()]
        hidden = len(names) - FIELDS_SHOWN
        return ", ".join(names[:FIELDS_SHOWN]) + (f" and {hidden} more" if hidden > 0 else "")
    if isinstance(layout, data.ArrayLayout):
        return f"{layout.length} x {Shape.cast(layout.elem_shape).width}"
    if isinstance(shape, ShapeCastable) and hasattr(shape, "__members__"):
        return ", ".join(name for name in shape.__members__)
    return ""


def _stream_payload(signature: wiring.Signature) -> Any:
    return signature.members["payload"].shape


def _port(name: str, member: wiring.Member) -> list[Any]:
    times = "".join(f" x {size}" for size in member.dimensions)
    direction = "in" if member.flow is wiring.In else "out"
    if member.is_port:
        return [f"`{name}`{times}", direction, "", Shape.cast(member.shape).width, _fields(member.shape)]
    signature = member.signature
    shape = _stream_payload(signature)
    if (signature.flip() if member.flow is wiring.In else signature).always_ready:
        handshake = "valid"
    else:
        handshake = "valid, ready"
    return [f"`{name}`{times}", direction, handshake, Shape.cast(shape).width, _fields(shape)]


def ports(component: wiring.Component) -> str:
    """Return the port table of a component."""
    rows = []
    for name, member in component.signature.members.items():
        if member.is_signature and not isinstance(member.signature, stream.Signature):
            inner = member.signature.members
            if set(inner) < {"payload", "valid", "ready"} or "payload" not in inner:
                rows += [_port(f"{name}.{part}", each) for part, each in inner.items() if each.is_port]
                continue
        rows.append(_port(name, member))
    return markdown(["port", "direction", "handshake", "bits", "fields with bits"], rows)


def latency(component: wiring.Component, config: Any) -> str:
    """Return the cycles from a request to its result, where the component or its configuration states them."""
    module = sys.modules[type(component).__module__]
    for holder in (component, module):
        for name in ("latency", "LATENCY"):
            value = getattr(holder, name, None)
            if isinstance(value, int):
                return f"{value} cycle{'s' * (value != 1)}"
    if hasattr(config, "pipeline"):
        return f"{config.pipeline.stages} cycles, as many as pipeline stages (0 to 4)"
    return ""


def _configuration(config: Any) -> str:
    parts = []
    for field in fields(config):
        value = getattr(config, field.name)
        kind = type(value)
        parts.append(f"`{field.name}` ({kind.__name__ if is_dataclass(value) or isinstance(value, tuple) else value})")
    return ", ".join(parts)


def purpose(component: wiring.Component) -> str:
    """Return the docstring of a component above its sections, as Markdown."""
    text = inspect.getdoc(type(component)) or ""
    return ROLE.sub(r"`\1`", SECTION.split(text)[0].strip().replace("::\n", ":\n"))


def summary(unit: Unit) -> str:
    """Return a unit's purpose without its machine, with a capital."""
    text = unit.summary.partition(": ")[2] or unit.summary
    return text[0].upper() + text[1:]


def unit_section(unit: Unit) -> str:
    """Return one unit's section."""
    config = unit.covered.config
    component = unit.build(config)
    cycles = latency(component, config)
    lines = [
        f"### `{unit.name}`",
        f"{summary(unit)}. Folder: `{unit.room}`.",
        purpose(component),
    ]
    if is_dataclass(config) and fields(config):
        lines.append(f"Configuration, with the values of the port table: {_configuration(config)}.")
    lines += [f"Latency: {cycles}."] if cycles else []
    return "\n\n".join([*lines, ports(component)])


def sections(machine: str) -> str:
    """Return the sections of a machine's units, in the order in which they are listed."""
    return "\n\n".join(unit_section(unit) for unit in UNITS.values() if unit.machine == machine)


def overview() -> str:
    """Return a row for each unit: name, machine, purpose, folder."""
    rows = [[f"`{unit.name}`", unit.machine, summary(unit), f"`{unit.room}`"] for unit in UNITS.values()]
    return markdown(["unit", "machine", "purpose", "folder in rtl and verif"], rows)
