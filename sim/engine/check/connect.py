"""Partners of a unit's ports among the ports of a design, or the first reason why the design does not fit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from bitpath.rtl.flat import FlatPort
from bitpath.sim.engine.check.design import Design
from bitpath.sim.engine.check.port_map import Partner, PortMap
from bitpath.sim.engine.ports import Port

LISTED = 12
"""Names of ports that an error lists."""


@dataclass(frozen=True)
class Link:
    """A part of a unit's packed port, with the design's counterpart.

    Attributes
    ----------
    ours, direction, bits : the part; ``direction`` is the design's.
    packed, lsb : the packed port, and the place of the part's lowest bit in it.
    partner : the design's port or its substitute.
    """

    ours: str
    direction: str
    bits: int
    packed: str
    lsb: int
    partner: Partner


def connect(unit: str, ports: Sequence[FlatPort], design: Design, port_map: PortMap) -> tuple[Link, ...]:
    """Return the links of all of a unit's flat ports.

    A packed port of which the design has the whole word is one link, otherwise each field or mapped group of fields is one.

    Raises ValueError for a name in the map that the unit or the design lacks, and for a port of the design that is missing,
    superfluous, used twice, or of another width or direction.
    """
    links = [
        link
        for _, leaves in groupby(ports, key=lambda port: port.packed)
        for link in _links(list(leaves), design, port_map)
    ]
    if unknown := port_map.partners.keys() - {link.ours for link in links}:
        raise ValueError(
            f"--map: {unit} has no port {min(unknown)} in this configuration; its ports are {_listed([link.ours for link in links])}"
        )
    if unknown := port_map.design.keys() - design.ports.keys():
        raise ValueError(f"--map: {design.top} has no port {min(unknown)}; its ports are {_listed(list(design.ports))}")
    used = [link.partner.port for link in links if link.partner.port]
    spare = [name for name in design.ports if name not in used and name not in port_map.design]
    for link in links:
        _check(unit, link, design, spare)
    for name in used:
        if used.count(name) > 1 or name in port_map.design:
            raise ValueError(f"--map: port {name} of {design.top} is connected twice")
    for name, level in port_map.design.items():
        _check_further(design, design.ports[name], level)
    if spare:
        raise ValueError(
            f"port {spare[0]} of {design.top} ({_kind(design.ports[spare[0]])}) is no port of {unit}; --map can connect it, or "
            "give it a level or open in [design]"
        )
    return tuple(links)


def _links(leaves: list[FlatPort], design: Design, port_map: PortMap) -> Iterator[Link]:
    """Yield the links of one packed port from its fields, lowest first."""
    packed = leaves[0].packed
    names = [name for name in (packed, packed.replace("__", "_")) if name in port_map.partners]
    mapped = any(_group(leaves, name) for name in port_map.partners)
    if names or (packed in design.ports and not mapped):
        yield _link(names[0] if names else packed, leaves, port_map)
        return
    while leaves:
        groups = [
            (name, group) for name in port_map.partners if (group := _group(leaves, name)) and group[0] == leaves[0]
        ]
        name, group = max(groups, key=lambda each: len(each[1]), default=(leaves[0].name, leaves[:1]))
        yield _link(name, group, port_map)
        leaves = leaves[len(group) :]


def _group(leaves: list[FlatPort], name: str) -> list[FlatPort]:
    """Return the field of that name, or the fields below it."""
    return [leaf for leaf in leaves if leaf.name == name or leaf.name.startswith(f"{name}_")]


def _link(name: str, leaves: list[FlatPort], port_map: PortMap) -> Link:
    first = leaves[0]
    bits = sum(leaf.bits for leaf in leaves)
    return Link(name, first.direction, bits, first.packed, first.lsb, port_map.partner(name))


def _check(unit: str, link: Link, design: Design, spare: list[str]) -> None:
    """Raise ValueError unless the partner of a link exists and fits."""
    partner, ours = link.partner, f"{link.ours} of {unit}"
    if partner.port is None:
        _check_substitute(ours, link)
        return
    port = design.ports.get(partner.port)
    needed = f"an {link.direction} of {_bits(link.bits)}"
    if port is None:
        others = f"; ports without a partner are {_listed(spare)}" if spare else ""
        if partner.port == link.ours:
            raise ValueError(f"{design.top} has no port {ours}, {needed}, and --map gives it no other name{others}")
        raise ValueError(f"{design.top} has no port {partner.port}, which --map names for {ours}, {needed}{others}")
    if (port.direction, port.bits) != (link.direction, link.bits):
        raise ValueError(f"port {port.name} of {design.top} is {_kind(port)}; {ours} is {needed}")
    if partner.inverted and link.bits > 1:
        raise ValueError(f"--map: only a port of one bit can be inverted; {ours} has {link.bits} bits")


def _check_substitute(ours: str, link: Link) -> None:
    partner = link.partner
    if partner.delay is not None:
        if not link.packed.endswith("__valid") or link.direction != "output":
            raise ValueError(f'--map: "delay N" stands for the valid of a result, not for {ours}')
    elif partner.constant is None:
        if link.direction == "output":
            raise ValueError(f'--map: "open" stands for an input, and {ours} is an output; a number gives its level')
    elif link.direction == "input":
        raise ValueError(f'--map: a number is the level of an output, and {ours} is an input; "open" leaves it out')
    elif partner.constant >> link.bits:
        raise ValueError(f"--map: {ours} has {_bits(link.bits)}, too few for {partner.constant}")


def _check_further(design: Design, port: Port, level: int | None) -> None:
    """Raise ValueError unless a further port of the design is an input with a level that fits, or an output without one."""
    if (level is None) != (port.direction == "output") or port.direction == "inout" or (level or 0) >> port.bits:
        raise ValueError(
            f"--map: port {port.name} of {design.top} is {_kind(port)}; [design] takes a level for an input, which its bits "
            'can hold, and "open" for an output'
        )


def _kind(port: Port) -> str:
    return f"an {port.direction} of {_bits(port.bits)}" if port.bits else "no vector, such as an unpacked array"


def _bits(count: int) -> str:
    return f"{count} bit{'s' * (count != 1)}"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more
