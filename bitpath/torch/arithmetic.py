"""A machine's arithmetic by name, as a text: torch's operators take texts, and `torch.compile` keeps them as constants."""

import json
from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch

from bitpath.golden.formats.records import from_dict, to_dict
from bitpath.golden.machines import MACHINES, find_machine
from bitpath.golden.matmul import find_numerics, matmul


class Arithmetic(NamedTuple):
    """The arithmetic of a product and of its gradient.

    Attributes
    ----------
    forward : as `text` gives it.
    backward : that of the two products of the gradient; None computes them in float32.
    """

    forward: str
    backward: str | None


# The names are constants of a compiled graph.
@torch.compiler.assume_constant_result
def arithmetic(
    *,
    format: str,
    machine: str | None = None,
    numerics: Any = None,
    backward_format: str | None = None,
    **options: Any,
) -> Arithmetic:
    """Return the arithmetic of names as `linear` takes them; raise TypeError or ValueError for others.

    The gradient has the machine's defaults for numerics and options.
    """
    forward = text("format", format, machine, numerics, **options)
    return Arithmetic(forward, None if backward_format is None else text("backward_format", backward_format))


def text(name: str, format: str, machine: str | None = None, numerics: Any = None, **options: Any) -> str:
    """Return the arguments of `bitpath.matmul` as JSON, checked; `name` is what errors call the format."""
    if not isinstance(format, str):
        raise TypeError(f"{name} must be the name of a format, not {format!r}")
    record = find_machine(machine, format)
    if format in record.integers:
        raise ValueError(f"{name} must be one of floats for a layer, not {format!r}")
    if numerics is not None:
        # A file counts as it is now.
        numerics = numerics if numerics in tuple(record.presets) else find_numerics(record, numerics)
    given = {"format": format, "machine": record.name, "numerics": numerics, **options}
    found = json.dumps({key: _as_json(key, value) for key, value in given.items() if value is not None}, sort_keys=True)
    _check(found)
    return found


def part(found: str, name: str) -> str:
    """Return the text of the errors that one part of the arithmetic makes: "operands" or "sums", as `compare` splits them."""
    return json.dumps(json.loads(found) | {"part": name}, sort_keys=True)


@cache
def part_of(found: str) -> str | None:
    """Return the part that a text of `part` names; None is the whole arithmetic."""
    return json.loads(found).get("part")


@cache
def arguments(found: str) -> Mapping[str, Any]:
    """Return the arguments of `bitpath.matmul` that a text of `text` stands for."""
    given = json.loads(found)
    given.pop("part", None)
    numerics = given.get("numerics")
    if isinstance(numerics, dict):
        (kind, fields), *_ = numerics.items()
        presets = MACHINES[given["machine"]].presets.values()
        record = next(type(each.numerics) for each in presets if type(each.numerics).__name__ == kind)
        given["numerics"] = from_dict(record, fields)
    return given


def shown(found: str) -> str:
    """Return the name of the format in a text of `text`."""
    return json.loads(found)["format"]


@cache
def _check(found: str) -> None:
    # The machine checks its own options.
    one = np.ones((1, 1), np.float32)
    matmul(one, one, **arguments(found))


def _as_json(name: str, value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        return {type(value).__name__: to_dict(value)}
    if not isinstance(value, bool | int | str):
        raise TypeError(f"{name} must be a name, a number or a flag, not {value!r}")
    return value
