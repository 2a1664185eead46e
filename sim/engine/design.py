"""A user's own design: its files and ports, the file of ``bitpath check --map``, and the partner of each port of a unit."""

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from bitpath.golden.arrays.files import FileError, check_file, read_toml
from bitpath.rtl.flat import FlatPort
from bitpath.sim.engine import process, tools
from bitpath.sim.engine.stepped import Port

# Somebody's own design: its files, and the ports of its top module as Verilator elaborates them.


SHOWN = 4
"""Messages of a simulator that an error repeats."""
SECONDS = 300
"""Time limit of Verilator's elaboration."""
_ERROR = re.compile(r"^%Error(?:-\w+)?: (?!Exiting due to)(.*)", re.MULTILINE)


@dataclass(frozen=True)
class Design:
    """A design that was read.

    Attributes
    ----------
    top : name of its top module.
    files, includes : its sources in order, and the folders of what they include.
    parameters : parameters of the top module that are set.
    ports : ports of the top module by name; ``direction`` is "input", "output" or "inout". A port that is no vector, such as
        an unpacked array or a real number, has 0 bits.
    read : every file that was read, with those that others include.
    """

    top: str
    files: tuple[Path, ...]
    includes: tuple[Path, ...]
    parameters: Mapping[str, int]
    ports: Mapping[str, Port]
    read: tuple[Path, ...]


def read_design(files: Sequence[Path], top: str, includes: Sequence[Path], parameters: Mapping[str, int]) -> Design:
    """Elaborate a design and return it.

    Raises FileError as `check_file` for a file; ValueError, with Verilator's messages, if it rejects the design or needs more
    than five minutes; MissingToolError without Verilator.
    """
    for file in files:
        check_file(file)
    tools.require("verilator", "perl")
    # A file may include its neighbours, as it can in most simulators.
    folders = tuple(dict.fromkeys((*includes, *(file.parent for file in files))))
    with tempfile.TemporaryDirectory() as name:
        tree, meta = Path(name) / "tree.json", Path(name) / "meta.json"
        command = [str(tools.find("verilator")), "--json-only", "--no-timing", "-Wno-fatal", "-Mdir", name]
        command += ["--json-only-output", str(tree), "--json-only-meta-output", str(meta), "--top-module", top]
        command += [f"-I{folder}" for folder in folders] + [f"-G{key}={value}" for key, value in parameters.items()]
        command += map(str, files)
        log = Path(name) / "log"
        try:
            status = process.run_logged(command, env=tools.environment(), log=log, timeout=SECONDS)
        except TimeoutError:
            # It waits, for example, for an included file that is a pipe.
            raise ValueError(f"{top} must be elaborated by Verilator within {SECONDS} s") from None
        if status:
            said = log.read_text(errors="replace")
            raise ValueError(f"Verilator rejects {top}: {messages(_ERROR.findall(said)) or said.strip()}")
        try:
            found = json.loads(tree.read_text())
        except RecursionError:
            raise ValueError(f"{top} must not have expressions in each other a thousand deep") from None
        listed = json.loads(meta.read_text())["files"].values()
    read = [Path(each["realpath"]) for each in listed if not each["filename"].startswith("<")]
    return Design(top, tuple(files), folders, dict(parameters), _ports(found, top), tuple(sorted(read)))


def messages(lines: Sequence[str]) -> str:
    """Return the first messages of a simulator as text, one a line after the first."""
    return "\n  ".join(lines[:SHOWN])


def _ports(tree: dict[str, Any], top: str) -> dict[str, Port]:
    (table,) = (each["typesp"] for each in tree["miscsp"] if each["type"] == "TYPETABLE")
    types = {each["addr"]: each for each in table}
    (module,) = (each for each in tree["modulesp"] if each["type"] == "MODULE" and each["name"] == top)
    return {
        each["name"]: Port(each["direction"].lower(), each["name"], _bits(types, types.get(each["dtypep"], {})))
        for each in module["stmtsp"]
        if each["type"] == "VAR" and each["direction"] != "NONE"
    }


def _bits(types: Mapping[str, Any], each: Mapping[str, Any]) -> int:
    """Return the width of a type; 0 if it is not a vector."""
    kind = each.get("type")
    if kind == "BASICDTYPE":
        vector = each["keyword"] in ("logic", "bit", "integer", "int", "byte", "shortint", "longint", "time")
        return _extent(each.get("range", "0:0")) if vector else 0
    if kind == "PACKARRAYDTYPE":
        return _extent(each["declRange"]) * _bits(types, types[each["refDTypep"]])
    if kind in ("STRUCTDTYPE", "UNIONDTYPE"):
        members = [_bits(types, member) for member in each["membersp"]]
        whole = each.get("packed", False) and all(members)
        return (sum(members) if kind == "STRUCTDTYPE" else max(members)) if whole else 0
    if kind in ("REFDTYPE", "ENUMDTYPE", "MEMBERDTYPE", "CONSTDTYPE", "PARAMTYPEDTYPE"):
        # The type behind a name; that of a type parameter is in another field.
        return _bits(
            types, types.get(each["dtypep"] if kind in ("REFDTYPE", "PARAMTYPEDTYPE") else each["refDTypep"], {})
        )
    return 0


def _extent(text: str) -> int:
    left, right = map(int, text.strip("[]").split(":"))
    return abs(left - right) + 1


# The file of ``bitpath check --map``: a unit's ports by the names and levels that a design has for them.
#
# Before any table, ``ours = value`` names the design's counterpart of a port of the unit. ``ours`` is a port or a group
# of ports of the flat module, or a port of the packed one: ``i_stationary_scale``, ``i_stationary_elements`` or
# ``i__payload``.
#
#     "name"        the design's port of that name
#     "~name"       the same, inverted: one bit
#     "open"        an input that the design lacks. For the ready of a result: the design cannot wait
#     3             an output that the design lacks, and its constant level
#     "delay 3"     the valid of a result, which the design lacks: results come 3 cycles after their requests
#
# ``[design]`` has the design's further ports: ``name = 0`` ties an input to a constant, ``name = "open"`` ignores an output.
# ``[parameters]`` sets integer parameters of the top module.


OPEN = "open"
_PORT = re.compile(r"(~?)([A-Za-z_][\w$]*)", re.ASCII)
_DELAY = re.compile(r"delay (\d+)")


@dataclass(frozen=True)
class Partner:
    """A design's counterpart of a port of the unit: a port, possibly inverted; a constant; a delay; or nothing."""

    port: str | None = None
    inverted: bool = False
    constant: int | None = None
    delay: int | None = None


@dataclass(frozen=True)
class PortMap:
    """A port map of a design.

    Attributes
    ----------
    partners : by the unit's name of a port or group.
    design : levels of the design's further inputs; None for an output that is ignored.
    parameters : of the top module.
    """

    partners: Mapping[str, Partner] = field(default_factory=dict)
    design: Mapping[str, int | None] = field(default_factory=dict)
    parameters: Mapping[str, int] = field(default_factory=dict)

    def partner(self, ours: str) -> Partner:
        """Return the partner of a port, by default the port of the same name."""
        return self.partners.get(ours, Partner(ours))


def read_map(path: Path | None) -> PortMap:
    """Return the map of a file, or the empty one without a file; raise FileError as `read_toml` and for other values."""
    if path is None:
        return PortMap()
    content = read_toml(path, "--map")
    tables = {name: content.pop(name, {}) for name in ("design", "parameters")}
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise FileError(f"--map: {path}: [{name}] must be a table, not {table!r}")
    return PortMap(
        {name: _partner(path, name, value) for name, value in content.items()},
        {name: None if value == OPEN else _natural(path, name, value) for name, value in tables["design"].items()},
        {name: _natural(path, name, value) for name, value in tables["parameters"].items()},
    )


def _partner(path: Path, name: str, value: Any) -> Partner:
    if not isinstance(value, str):
        return Partner(constant=_natural(path, name, value))
    if value == OPEN:
        return Partner()
    if found := _DELAY.fullmatch(value):
        return Partner(delay=int(found[1]))
    if found := _PORT.fullmatch(value):
        return Partner(found[2], inverted=bool(found[1]))
    raise FileError(
        f'--map: {path}: {name} must be a port "name", "~name", "open", "delay N" or a number, not {value!r}'
    )


def _natural(path: Path, name: str, value: Any) -> int:
    if type(value) is not int or value < 0:
        raise FileError(f"--map: {path}: {name} must be an integer of 0 or more, not {value!r}")
    return value


# Partners of a unit's ports among the ports of a design, or the first reason why the design does not fit.


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
    needed = f"an {link.direction} of {_count(link.bits)}"
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
        raise ValueError(f"--map: {ours} has {_count(link.bits)}, too few for {partner.constant}")


def _check_further(design: Design, port: Port, level: int | None) -> None:
    """Raise ValueError unless a further port of the design is an input with a level that fits, or an output without one."""
    if (level is None) != (port.direction == "output") or port.direction == "inout" or (level or 0) >> port.bits:
        raise ValueError(
            f"--map: port {port.name} of {design.top} is {_kind(port)}; [design] takes a level for an input, which its bits "
            'can hold, and "open" for an output'
        )


def _kind(port: Port) -> str:
    return f"an {port.direction} of {_count(port.bits)}" if port.bits else "no vector, such as an unpacked array"


def _count(count: int) -> str:
    return f"{count} bit{'s' * (count != 1)}"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more
