"""Flat wrapper of a unit: a Verilog module with a named port for each field of each packed port.

A port is named by its member and fields, joined with ``_``; elements of an array are numbered. ``i.payload.stationary.scale``
is ``i_stationary_scale``; a payload without fields keeps its word, as in ``o_payload``. A union is one port.
"""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import EnumMeta
from itertools import groupby
from typing import Any

from amaranth import Const, Shape, Value
from amaranth.hdl import ShapeCastable
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In

CLOCK = ("clk", "rst")
COLUMNS = 120
HANDSHAKE = """\
A transfer takes place at each rising edge of clk at which valid and ready of a stream are 1. The sender keeps valid at 1 and
the payload unchanged until the transfer, and does not wait for ready. A stream without the port valid is always valid; a
stream without the port ready is always ready."""


@dataclass(frozen=True)
class FlatPort:
    """A port of the flat module, a part of a port of the packed one.

    Attributes
    ----------
    name, direction, bits, signed : as Verilog declares it; ``direction`` is "input" or "output".
    field : path in the signature, for example ``i.payload.stationary.elements[0]``; empty for clock and reset.
    packed, lsb : the port of the packed module, and the place of this port's lowest bit in it.
    values : codes of an enumeration by name.
    """

    name: str
    direction: str
    bits: int
    signed: bool
    field: str
    packed: str
    lsb: int
    values: dict[str, int]

    @property
    def declaration(self) -> str:
        words = (self.direction, "wire", "signed" * self.signed, f"[{self.bits - 1}:0]" * (self.bits > 1), self.name)
        return " ".join(filter(None, words))

    @property
    def comment(self) -> str:
        """Place in the packed port, where this is a part of it, and codes; empty if there is neither."""
        if self.name in CLOCK:
            return ("rising edge", "synchronous, active at 1")[CLOCK.index(self.name)]
        place = f"[{self.lsb + self.bits - 1}:{self.lsb}]" if self.bits > 1 else f"[{self.lsb}]"
        values = ", ".join(f"{code} = {name}" for name, code in self.values.items())
        return "; ".join(filter(None, (f"{self.packed}{place}" * (self.packed != self.name), values)))


def flat_ports(component: wiring.Component, packed: Sequence[str]) -> tuple[FlatPort, ...]:
    """Return the flat ports of a component whose packed module has the ports ``packed``; clock and reset come first.

    Raises ValueError if two fields have the same flat name.
    """
    ports = [FlatPort(name, "input", 1, False, "", name, 0, {}) for name in CLOCK if name in packed]
    for path, member, value in component.signature.flatten(component):
        if isinstance(value, Const) or not len(Value.cast(value)):
            continue
        direction = "input" if member.flow is In else "output"
        for fields, lsb, shape in _leaves(member.shape):
            # The word "payload" of a stream disappears where fields follow it.
            base = path[:-1] if path[-1] == "payload" and fields else path
            width = Shape.cast(shape)
            values = {each.name: each.value for each in shape} if isinstance(shape, EnumMeta) else {}
            ports.append(
                FlatPort(
                    name="_".join(map(str, (*base, *fields))),
                    direction=direction,
                    bits=width.width,
                    signed=width.signed,
                    field=_shown((*path, *fields)),
                    packed="__".join(map(str, path)),
                    lsb=lsb,
                    values=values,
                )
            )
    names = [port.name for port in ports]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"two fields have the flat name {', '.join(doubled)}")
    return tuple(ports)


def _leaves(shape: Any, path: tuple[str | int, ...] = (), lsb: int = 0) -> Iterator[tuple[tuple, int, Any]]:
    """Yield path, lowest bit and shape of each field that has none of its own, lowest first."""
    layout = data.Layout.cast(shape) if isinstance(shape, ShapeCastable) and _is_layout(shape) else None
    if isinstance(layout, data.StructLayout | data.ArrayLayout):
        for key, field in layout:
            yield from _leaves(field.shape, (*path, key), lsb + field.offset)
    elif Shape.cast(shape).width:
        yield path, lsb, shape


def _is_layout(shape: Any) -> bool:
    return isinstance(shape, data.Layout) or (isinstance(shape, type) and issubclass(shape, data.Struct | data.Union))


def _shown(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def wrapper(name: str, core: str, ports: tuple[FlatPort, ...]) -> str:
    """Return the module ``name`` with the flat ports, around an instance of the packed module ``core``."""
    declared = [
        f"  {port.declaration}{',' * (port is not ports[-1])}{f' // {port.comment}' if port.comment else ''}"
        for port in ports
    ]
    connected = []
    for packed, group in groupby(ports, key=lambda port: port.packed):
        names = ", ".join(port.name for port in reversed(list(group)))
        line = f".{packed}({{{names}}})" if ", " in names else f".{packed}({names})"
        connected.append(textwrap.fill(line, COLUMNS, initial_indent="    ", subsequent_indent="      "))
    lines = (f"module {name} (", *declared, ");", f"  {core} core (", ",\n".join(connected), "  );", "endmodule")
    return "\n".join(lines) + "\n"


def port_table(ports: tuple[FlatPort, ...]) -> list[dict[str, Any]]:
    """Return the flat ports as JSON."""
    return [asdict(port) for port in ports]


def has_streams(component: wiring.Component) -> bool:
    """Return True if a port is a stream or an array of streams."""
    return any(
        member.is_signature and isinstance(member.signature, stream.Signature)
        for member in component.signature.members.values()
    )
