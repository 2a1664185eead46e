"""A user's own design: its files and ports, the file of ``bitpath check --map``, and the partner of each port of a unit."""

import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from bitpath.golden.arrays.files import FileError, check_file, read_toml
from bitpath.rtl.flat import CLOCK, FlatPort
from bitpath.sim.engine import process, tools

# Somebody's own design: its files, and the ports of its top module as Verilator elaborates them.


SHOWN = 4
"""Messages of a simulator that an error repeats."""
SECONDS = 300
"""Time limit of Verilator's elaboration."""
_ERROR = re.compile(r"^%Error(?:-\w+)?: (?!Exiting due to)(.*)", re.MULTILINE)


@dataclass(frozen=True)
class Port:
    """A port of a design.

    Attributes
    ----------
    direction : "input", "output" or "inout".
    bits : bits of a vector, or of all elements of an array of vectors; 0 for another port, such as a real number.
    bounds : left and right bound of an unpacked array, whose element of the smallest index is lowest; None for a vector.
    """

    direction: str
    name: str
    bits: int
    bounds: tuple[int, int] | None = None


@dataclass(frozen=True)
class Sources:
    """Sources of a design, as a simulator reads them.

    Attributes
    ----------
    files, includes : its sources in order, and the folders of what they include.
    defines : macros with their texts, which may be empty.
    """

    files: tuple[Path, ...] = ()
    includes: tuple[Path, ...] = ()
    defines: Mapping[str, str] = field(default_factory=dict)

    def with_list(self, path: Path) -> "Sources":
        """Return the sources with those of a file list behind them, whose paths are relative to the current folder.

        A list has file names, ``+incdir+FOLDER``, ``+define+NAME=TEXT``, ``-I FOLDER``, ``-D NAME=TEXT``, ``-f LIST``, and
        comments behind ``//`` or ``#``.

        Raises FileError for a list that cannot be read, and for another option.
        """
        check_file(path)
        text = re.sub(r"(?m)(//|#).*$", "", path.read_text(errors="replace"))
        found, words = self, iter(os.path.expandvars(text).split())
        for word in words:
            name, _, rest = word.lstrip("+").partition("+") if word.startswith("+") else (word[:2], "", word[2:])
            if name in ("-I", "-D", "-f"):
                rest = rest or next(words, "")
            if name in ("incdir", "-I"):
                folders = tuple(map(Path, rest.split("+") if name == "incdir" else [rest]))
                found = replace(found, includes=(*found.includes, *folders))
            elif name in ("define", "-D"):
                found = replace(
                    found, defines={**found.defines, **macros(rest.split("+") if name == "define" else [rest])}
                )
            elif name == "-f":
                found = found.with_list(Path(rest))
            elif word[0] in "+-":
                raise FileError(
                    f"{path}: {word} is no file, +incdir+, +define+, -I, -D or -f; bitpath check takes no other option"
                )
            else:
                found = replace(found, files=(*found.files, Path(word)))
        return found


def macros(given: Iterable[str]) -> dict[str, str]:
    """Return the names and texts of macros from ``NAME`` or ``NAME=TEXT``; raise ValueError for another name."""
    pairs = dict(each.partition("=")[::2] for each in given)
    for name in pairs:
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise ValueError(f"-D must be NAME or NAME=TEXT, and {name!r} is no name of a macro")
    return pairs


@dataclass(frozen=True)
class Design:
    """A design that was read.

    Attributes
    ----------
    top : name of its top module.
    sources : what a simulator reads.
    parameters : Verilog texts of the parameters of the top module that are set.
    ports : ports of the top module by name.
    read : every file that was read, with those that others include.
    """

    top: str
    sources: Sources
    parameters: Mapping[str, str]
    ports: Mapping[str, Port]
    read: tuple[Path, ...]


PROBE = "bitpath_probe"
"""Module in which the top module is elaborated with its parameters, which may be of any type."""
VHDL = (".vhd", ".vhdl")


def read_design(sources: Sources, top: str, parameters: Mapping[str, str]) -> Design:
    """Elaborate a design and return it.

    Raises FileError as `check_file` for a file; ValueError, with Verilator's messages, if it rejects the design or needs more
    than five minutes, and for VHDL and a port that is an interface; MissingToolError without Verilator.
    """
    for file in sources.files:
        check_file(file)
        if file.suffix.lower() in VHDL:
            raise ValueError(
                f"{file} is VHDL, which bitpath check does not read; ghdl synth --out=verilog writes a design as Verilog"
            )
    tools.require("verilator", "perl")
    # A file may include its neighbours, as it can in most simulators.
    folders = tuple(dict.fromkeys((*sources.includes, *(file.parent for file in sources.files))))
    sources = replace(sources, includes=folders)
    with tempfile.TemporaryDirectory() as name:
        tree, meta, probe = Path(name) / "tree.json", Path(name) / "meta.json", Path(name) / f"{PROBE}.sv"
        values = ", ".join(f".{key}({value})" for key, value in parameters.items())
        probe.write_text(f"module {PROBE};\n  {top} #({values}) dut ();\nendmodule\n")
        command = [
            str(tools.find("verilator")),
            "--json-only",
            "--no-timing",
            "-Wno-fatal",
            "-Wno-PINMISSING",
            "-Mdir",
            name,
        ]
        command += ["--json-only-output", str(tree), "--json-only-meta-output", str(meta)]
        command += ["--top-module", PROBE if parameters else top]
        command += [f"-I{folder}" for folder in folders]
        command += [f"-D{key}={value}" if value else f"-D{key}" for key, value in sources.defines.items()]
        command += map(str, (*sources.files, *([probe] if parameters else [])))
        log = Path(name) / "log"
        try:
            status = process.run_logged(command, env=tools.environment(), log=log, timeout=SECONDS)
        except TimeoutError:
            # It waits, for example, for an included file that is a pipe.
            raise ValueError(f"{top} must be elaborated by Verilator within {SECONDS} s") from None
        if status:
            said = log.read_text(errors="replace")
            found = _ERROR.findall(said)
            advice = ""
            if any("nterface" in line for line in found):
                advice = (
                    f"\n  A module around {top} can connect an interface: its own ports are the interface's signals"
                )
            raise ValueError(f"Verilator rejects {top}: {messages(found) or said.strip()}{advice}")
        try:
            content = json.loads(tree.read_text())
        except RecursionError:
            raise ValueError(f"{top} must not have expressions in each other a thousand deep") from None
        listed = json.loads(meta.read_text())["files"].values()
    read = [Path(each["realpath"]) for each in listed if not each["filename"].startswith("<")]
    own = tuple(sorted(each for each in read if each.name != probe.name))
    return Design(top, sources, dict(parameters), _ports(content, top), own)


def messages(lines: Sequence[str]) -> str:
    """Return the first messages of a simulator as text, one a line after the first."""
    return "\n  ".join(lines[:SHOWN])


def _ports(tree: dict[str, Any], top: str) -> dict[str, Port]:
    (table,) = (each["typesp"] for each in tree["miscsp"] if each["type"] == "TYPETABLE")
    types = {each["addr"]: each for each in table}
    (module, *_) = (each for each in tree["modulesp"] if each["type"] == "MODULE" and each["origName"] == top)
    ports = {}
    for each in module["stmtsp"]:
        if each["type"] == "VAR" and each["direction"] != "NONE":
            kind, bounds, count = types.get(each["dtypep"], {}), None, 1
            if kind.get("type") == "UNPACKARRAYDTYPE":
                left, right = bounds = _bounds(kind["declRange"])
                kind, count = types.get(kind["refDTypep"], {}), abs(left - right) + 1
            bits = _bits(types, kind) * count
            ports[each["name"]] = Port(each["direction"].lower(), each["name"], bits, bounds if bits else None)
    return ports


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


def _bounds(text: str) -> tuple[int, int]:
    left, right = map(int, text.strip("[]").split(":"))
    return left, right


def _extent(text: str) -> int:
    left, right = _bounds(text)
    return abs(left - right) + 1


# The file of ``bitpath check --map``: a unit's ports by the names and levels that a design has for them.
#
# Before any table, ``ours = value`` names the design's counterpart of a port of the unit. ``ours`` is a port or a group
# of ports of the flat module, or a port of the packed one: ``i_stationary_scale``, ``i_stationary_elements`` or
# ``i__payload``.
#
#     "name"        the design's port of that name; of an array of vectors the element of the smallest index is lowest
#     "name[7:0]"   some of its bits, counted from 0
#     "~name"       the same, inverted
#     "{a, b[3:0]}" several, the highest first; "16'b0" in it stands for bits of that value that the design lacks
#     {port = "name", values = {0 = 3, 1 = 5}}   the design has other codes: 3 for the unit's 0
#     {port = "name", after = 1}                 an operand that the design takes 1 cycle after its request
#     {same_as = "i_stationary_format"}          one port of the design serves both; the bench sends equal values
#     "open"        an input of the unit's handshake, clock or reset that the design lacks. For the ready of a result: the
#                   design cannot wait
#     3             of an output: its constant level, which the design lacks. Of an operand: the design lacks it, and golden
#                   computes with this value
#     "delay 3"     the valid of a result, which the design lacks: results come 3 cycles after their requests
#
# ``[design]`` has the design's further ports, or bits of them: ``name = 0`` ties an input to a constant, ``name = "~rst"``
# to a port of the unit of one bit, ``name = {from = "i_valid", after = 1}`` to that of a cycle before, and ``name = "open"``
# ignores an output. ``[parameters]`` sets parameters of the top module:
# numbers, or Verilog texts.


OPEN = "open"
_PIECE = re.compile(r"(~?)([A-Za-z_][\w$]*)(?:\[(\d+)(?::(\d+))?\])?", re.ASCII)
_CONSTANT = re.compile(r"(\d+)'([bdh])([0-9A-Fa-f_]+)")
_DELAY = re.compile(r"delay (\d+)")
_BASES = {"b": 2, "d": 10, "h": 16}


@dataclass(frozen=True)
class Piece:
    """Bits of a port of the design, or a constant.

    Attributes
    ----------
    port : the port; None for a constant.
    high, low : places of its highest and lowest bit; a ``high`` of None is the port's highest.
    inverted : True if every bit is inverted.
    after : cycles by which a port of the unit comes later, where it drives a further input.
    bits, constant : width and value of a constant.
    """

    port: str | None = None
    high: int | None = None
    low: int = 0
    inverted: bool = False
    after: int = 0
    bits: int = 0
    constant: int = 0

    def width(self, ports: Mapping[str, Port]) -> int:
        """Return the bits, of a port that the design has."""
        if self.port is None:
            return self.bits
        return (ports[self.port].bits if self.high is None else self.high + 1) - self.low


@dataclass(frozen=True)
class Partner:
    """A design's counterpart of a port of the unit: pieces, the highest first, or a substitute.

    Attributes
    ----------
    values : the design's codes by the unit's; None if they are the same.
    after : cycles from a request until the design takes this part of it.
    same_as : port of the unit whose value this one has.
    constant, delay : level or value, and cycles; None if the counterpart is something else.
    """

    pieces: tuple[Piece, ...] = ()
    values: tuple[tuple[int, int], ...] | None = None
    after: int = 0
    same_as: str | None = None
    constant: int | None = None
    delay: int | None = None


@dataclass(frozen=True)
class PortMap:
    """A port map of a design.

    Attributes
    ----------
    partners : by the unit's name of a port or group.
    design : further inputs by their bits with their level or the port of the unit that drives them; None for an output that
        is ignored.
    parameters : Verilog texts of the top module's parameters.
    """

    partners: Mapping[str, Partner] = field(default_factory=dict)
    design: Mapping[Piece, int | Piece | None] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)

    def partner(self, ours: str) -> Partner:
        """Return the partner of a port, by default the port of the same name."""
        return self.partners.get(ours, Partner((Piece(ours),)))


def read_map(path: Path | None, parameters: Mapping[str, str] | None = None) -> PortMap:
    """Return the map of a file, or the empty one without a file, with further parameters.

    Raises FileError as `read_toml` and for other values.
    """
    content = {} if path is None else read_toml(path, "--map")
    tables = {name: content.pop(name, {}) for name in ("design", "parameters")}
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise FileError(f"--map: {path}: [{name}] must be a table, not {table!r}")
    return PortMap(
        {name: _partner(path, name, value) for name, value in content.items()},
        dict(_further(path, name, value) for name, value in tables["design"].items()),
        {name: _parameter(path, name, value) for name, value in tables["parameters"].items()} | dict(parameters or {}),
    )


def _partner(path: Path | None, name: str, value: Any) -> Partner:
    if isinstance(value, dict):
        return _partner_table(path, name, value)
    if not isinstance(value, str):
        return Partner(constant=_natural(path, name, value))
    if value == OPEN:
        return Partner()
    if found := _DELAY.fullmatch(value):
        return Partner(delay=int(found[1]))
    if pieces := _pieces(value):
        return Partner(pieces)
    raise FileError(
        f'--map: {path}: {name} must be a port "name", "name[7:0]", "~name", "{{name, name}}", "open", "delay N", a number or a '
        f"table of port and values or of same_as, not {value!r}"
    )


def _partner_table(path: Path | None, name: str, table: dict[str, Any]) -> Partner:
    if table.keys() == {"same_as"} and isinstance(table["same_as"], str):
        return Partner(same_as=table["same_as"])
    codes, keys = table.get("values"), table.keys()
    whole = {"port"} < keys <= {"port", "values", "after"} and isinstance(table["port"], str)
    pieces = _pieces(table["port"]) if whole else ()
    named = isinstance(codes, dict) and codes and all(key.isdecimal() for key in codes)
    if not pieces or ("values" in keys and not named):
        raise FileError(
            f'--map: {path}: {name} must be a table such as {{port = "name", values = {{0 = 3, 1 = 5}}}} or '
            f'{{same_as = "i_stationary_format"}}, not {table!r}'
        )
    values = tuple((int(key), _natural(path, name, code)) for key, code in codes.items()) if codes else None
    return Partner(pieces, values, after=_natural(path, name, table.get("after", 0)))


def _pieces(text: str) -> tuple[Piece, ...]:
    """Return the pieces of a name, a slice or a concatenation; empty for another text."""
    inner = text[1:-1] if text.startswith("{") and text.endswith("}") else text
    found = [_piece(each.strip()) for each in inner.split(",")]
    return () if None in found or (inner is text and len(found) > 1) else tuple(each for each in found if each)


def _piece(text: str) -> Piece | None:
    if constant := _CONSTANT.fullmatch(text):
        try:
            value = int(constant[3], _BASES[constant[2]])
        except ValueError:
            return None
        bits = int(constant[1])
        return None if not bits or value >> bits else Piece(bits=bits, constant=value)
    if not (found := _PIECE.fullmatch(text)):
        return None
    high = None if found[3] is None else int(found[3])
    low = 0 if high is None else int(found[4] or found[3])
    return None if high is not None and high < low else Piece(found[2], high, low, inverted=bool(found[1]))


def _further(path: Path | None, name: str, value: Any) -> tuple[Piece, int | Piece | None]:
    key = _piece(name)
    if key is None or key.port is None or key.inverted:
        raise FileError(f"--map: {path}: [design] takes ports or bits such as name[7:4], not {name!r}")
    if value == OPEN:
        return key, None
    after = 0
    if isinstance(value, dict) and value.keys() == {"from", "after"}:
        after, value = _natural(path, name, value["after"]), value["from"]
    if isinstance(value, str) and (driver := _piece(value)) and driver.port and driver.high is None:
        return key, replace(driver, after=after)
    return key, _natural(path, name, value)


def _parameter(path: Path | None, name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return repr(value)
    return str(_natural(path, name, value))


def _natural(path: Path | None, name: str, value: Any) -> int:
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

    @property
    def operand(self) -> bool:
        """True if this is data that the unit computes with: an input besides clock, reset and handshake."""
        return (
            self.direction == "input" and self.packed not in CLOCK and not self.packed.endswith(("__valid", "__ready"))
        )


def connect(unit: str, ports: Sequence[FlatPort], design: Design, port_map: PortMap) -> tuple[Link, ...]:
    """Return the links of all of a unit's flat ports.

    A packed port of which the design has the whole word is one link, otherwise each field or mapped group of fields is one.

    Raises ValueError for a name in the map that the unit or the design lacks; for a port of the design that is missing, of
    another width or direction, or that has no partner; and for bits that have none or two.
    """
    links = [
        link
        for _, leaves in groupby(ports, key=lambda port: port.packed)
        for link in _links(list(leaves), design, port_map)
    ]
    ours = {link.ours: link for link in links}
    if unknown := port_map.partners.keys() - ours.keys():
        raise ValueError(
            f"--map: {unit} has no port {min(unknown)} in this configuration; its ports are {_listed(list(ours))}"
        )
    for further in port_map.design:
        if further.port not in design.ports:
            raise ValueError(
                f"--map: {design.top} has no port {further.port}; its ports are {_listed(list(design.ports))}"
            )
    used = {piece.port for link in links for piece in link.partner.pieces if piece.port} | {
        further.port for further in port_map.design
    }
    spare = [name for name in design.ports if name not in used]
    for link in links:
        _check(unit, link, design, spare)
        if link.partner.same_as is not None:
            other = ours.get(link.partner.same_as)
            if (
                other is None
                or not (link.operand and other.operand and other.partner.pieces)
                or other.bits != link.bits
            ):
                raise ValueError(
                    f"--map: {link.ours} of {unit} can be the same as an operand of {_count(link.bits)} that the design has, "
                    f"not as {link.partner.same_as}"
                )
    for further, value in port_map.design.items():
        _check_further(unit, design, further, value, ours)
    _check_bits(design, links, port_map)
    if spare:
        raise ValueError(
            f"port {spare[0]} of {design.top} ({_kind(design.ports[spare[0]])}) is no port of {unit}; --map can connect it, or "
            "give it a level or open in [design]"
        )
    return tuple(links)


def _check_bits(design: Design, links: Sequence[Link], port_map: PortMap) -> None:
    """Raise ValueError if bits of a port have two partners, or bits of an input none."""
    taken: dict[str, list[tuple[int, int]]] = {}
    pieces = [piece for link in links for piece in link.partner.pieces if piece.port]
    for piece in (*pieces, *port_map.design):
        taken.setdefault(str(piece.port), []).append((piece.low, piece.low + piece.width(design.ports)))
    for name, spans in taken.items():
        end = 0
        for low, above in sorted(spans):
            if low < end:
                raise ValueError(f"--map: port {name} of {design.top} is connected twice")
            if low > end and design.ports[name].direction == "input":
                break
            end = above
        bits = design.ports[name].bits
        if end < bits and design.ports[name].direction == "input":
            missing = next((low for low, _ in sorted(spans) if low > end), bits)
            raise ValueError(
                f"--map: bits {missing - 1} to {end} of port {name} of {design.top} have no partner; [design] gives them a level"
            )


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
    if not partner.pieces:
        if partner.same_as is None:
            _check_substitute(ours, link)
        return
    if partner.after and not link.operand:
        raise ValueError(f"--map: only an operand can come cycles after its request; {ours} is none")
    needed = f"an {link.direction} of {_count(link.bits)}"
    for piece in partner.pieces:
        if piece.port is None:
            continue
        port = design.ports.get(piece.port)
        if port is None:
            others = f"; ports without a partner are {_listed(spare)}" if spare else ""
            if piece.port == link.ours:
                raise ValueError(f"{design.top} has no port {ours}, {needed}, and --map gives it no other name{others}")
            raise ValueError(f"{design.top} has no port {piece.port}, which --map names for {ours}, {needed}{others}")
        if piece.high is not None and piece.high >= port.bits:
            raise ValueError(f"--map: port {port.name} of {design.top} is {_kind(port)}; it has no bit {piece.high}")
        whole = len(partner.pieces) == 1 and piece.high is None and partner.values is None
        if port.direction != link.direction or not port.bits or (whole and port.bits != link.bits):
            raise ValueError(f"port {port.name} of {design.top} is {_kind(port)}; {ours} is {needed}")
    width = sum(piece.width(design.ports) for piece in partner.pieces)
    if partner.values is not None:
        wrong = [code for own, code in partner.values if own >> link.bits or code >> width]
        if link.direction == "output" or wrong:
            raise ValueError(
                f"--map: values are codes of an input; {ours} has {_count(link.bits)}, its port {_count(width)}"
            )
    elif width != link.bits:
        raise ValueError(f"--map: the pieces of {ours} have {_count(width)}; it is {needed}")


def _check_substitute(ours: str, link: Link) -> None:
    partner = link.partner
    if partner.delay is not None:
        if not link.packed.endswith("__valid") or link.direction != "output":
            raise ValueError(f'--map: "delay N" stands for the valid of a result, not for {ours}')
    elif partner.constant is None:
        if link.direction == "output":
            raise ValueError(f'--map: "open" stands for an input, and {ours} is an output; a number gives its level')
        if link.operand:
            raise ValueError(
                f'--map: "open" would leave the design without {ours}, with which golden computes; a number is a value that '
                "golden then takes"
            )
    elif link.direction == "input" and not link.operand:
        raise ValueError(f'--map: a number is the level of an output, and {ours} is an input; "open" leaves it out')
    elif partner.constant >> link.bits:
        raise ValueError(f"--map: {ours} has {_count(link.bits)}, too few for {partner.constant}")


def _check_further(
    unit: str, design: Design, further: Piece, value: int | Piece | None, ours: Mapping[str, Link]
) -> None:
    """Raise ValueError unless a further port of the design is an input with what drives it, or an output without."""
    port = design.ports[str(further.port)]
    if further.high is not None and further.high >= port.bits:
        raise ValueError(f"--map: port {port.name} of {design.top} is {_kind(port)}; it has no bit {further.high}")
    bits = further.width(design.ports)
    if isinstance(value, Piece):
        driver = ours.get(str(value.port))
        if driver is None or driver.direction != "input" or (driver.bits, bits) != (1, 1):
            raise ValueError(
                f"--map: {port.name} of {design.top} can be driven by an input of {unit} of 1 bit, not by {value.port}"
            )
    elif isinstance(value, int) and value >> bits:
        raise ValueError(f"--map: {port.name} of {design.top} has {_count(bits)}, too few for {value}")
    if (value is None) != (port.direction == "output") or port.direction == "inout" or (value is not None and not bits):
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
