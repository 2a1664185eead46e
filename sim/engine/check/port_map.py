"""The file of ``bitpath check --map``: a unit's ports by the names and levels that a design has for them.

Before any table, ``ours = value`` says what the design has for a port of the unit. ``ours`` is a port or a group of ports of
the flat module, or a port of the packed one: ``i_stationary_scale``, ``i_stationary_elements`` or ``i__payload``.

    "name"        the design's port of that name
    "~name"       the same, inverted: one bit
    "open"        an input that the design lacks. For the ready of a result: the design cannot wait
    3             an output that the design lacks, and its constant level
    "delay 3"     the valid of a result, which the design lacks: results come 3 cycles after their requests

``[design]`` has the design's further ports: ``name = 0`` ties an input to a constant, ``name = "open"`` ignores an output.
``[parameters]`` sets integer parameters of the top module.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bitpath.golden.arrays.files import FileError, read_toml

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
    """A port map.

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
