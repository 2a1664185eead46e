"""Somebody's own design: its files, and the ports of its top module as Verilator elaborates them."""

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitpath.golden.arrays.files import check_file
from bitpath.sim.engine import process, tools
from bitpath.sim.engine.ports import Port

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
