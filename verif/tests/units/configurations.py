"""The configurations of a unit: every value of each of its fields, alone and beside those of the other fields.

What a field may be follows from its type, and from what the configuration refuses when it is made.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from itertools import combinations
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from bitpath.golden.formats.catalogue import CATALOGUE, FloatFormat
from bitpath.rtl.units import find_unit
from bitpath.sim.engine.configure import PRESETS

INTEGERS = sorted({*range(130), *(size for bit in range(7, 31) for size in ((1 << bit) - 1, 1 << bit, (1 << bit) + 1))})
"""Candidates of an integer field, whose ends are found among them: sizes that are powers of two, and odd ones."""
WHOLE_TUPLE = 4
"""A tuple of at most as many members is tried in all its parts, else each member alone and any two."""
MOST_VALUES = 24
"""Values of a tuple that are tried, evenly among all."""


@dataclass(frozen=True)
class Field:
    """A field of a configuration at any depth: its path, values that differ from its own, and refusals of others."""

    path: tuple[str, ...]
    values: list[Any]
    refusals: list[str]


def walked(name: str, *, alone: bool = True) -> Iterator[tuple[str, Any]]:
    """Yield configurations of a unit with a title: each field's values alone, then those of all fields side by side.

    In the second part configuration k has value k of every field, modulo their number, where the others leave it.
    """
    config = find_unit(name).config_type()
    table = [field for field in fields_of(config) if field.values]
    if alone:
        yield "default", config
        for field in table:
            for value in field.values:
                yield f"{'.'.join(field.path)}={_text(value)}", _changed(config, field.path, value)
    for index in range(max((len(field.values) for field in table), default=0)):
        mixed = config
        for field in table:
            try:
                mixed = _changed(mixed, field.path, field.values[index % len(field.values)])
            except ValueError:
                continue
        yield f"mixed {index}", mixed


def fields_of(config: Any) -> Iterator[Field]:
    """Yield the fields of a configuration, and those of its parts."""
    yield from _fields(config, config, ())


def _fields(whole: Any, part: Any, above: tuple[str, ...]) -> Iterator[Field]:
    for name, hint in get_type_hints(type(part)).items():
        path, value = (*above, name), getattr(part, name)
        has_parts = is_dataclass(value) and not isinstance(value, FloatFormat)
        # A part has the values of its own fields, and those of the presets of its type.
        presets = (each.numerics for each in PRESETS.values() if type(each.numerics) is type(value))
        taken, refusals = [], []
        for each in presets if has_parts else _candidates(hint, value):
            try:
                _changed(whole, path, each)
            except ValueError as error:
                refusals.append(str(error))
            else:
                taken += [each] * (each != value)
        yield Field(path, _chosen(taken), refusals)
        if has_parts:
            yield from _fields(whole, value, path)


def _changed(config: Any, path: tuple[str, ...], value: Any) -> Any:
    """Return a configuration with another value of the field at ``path``; ValueError if it refuses it."""
    first, *rest = path
    return replace(config, **{first: _changed(getattr(config, first), tuple(rest), value) if rest else value})


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))})"
    return str(getattr(value, "name", value)) if not is_dataclass(value) or isinstance(value, FloatFormat) else "preset"


def _candidates(hint: Any, value: Any) -> Iterator[Any]:
    if get_origin(hint) is tuple:
        yield from _tuples(get_args(hint)[0], value)
        return
    for kind in get_args(hint) or (hint,):
        if kind is bool:
            yield from (False, True)
        elif kind is int:
            yield from INTEGERS
        elif kind is NoneType:
            yield None
        elif kind is FloatFormat:
            yield from CATALOGUE.values()
        elif is_dataclass(kind):
            yield from _records(kind)
        elif issubclass(kind, Enum):
            yield from kind


def _records(kind: type) -> Iterator[Any]:
    """Yield records of a type whose fields have no default: value k of each field, modulo their number."""
    table = {field.name: list(_candidates(get_type_hints(kind)[field.name], None)) for field in fields(kind)}
    for index in range(max(map(len, table.values()))):
        try:
            yield kind(**{name: values[index % len(values)] for name, values in table.items()})
        except ValueError:
            continue


def _tuples(kind: Any, value: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    if kind is int:
        yield from ((sum(value),), (0, sum(value)), value[::-1], (1,) * sum(value))
    elif get_origin(kind) is tuple:
        yield from (value[:1], value[-1:], value[::-1])
    else:
        members = list(_candidates(kind, None))
        longest = len(value) if len(value) <= WHOLE_TUPLE else 2
        parts = [part for size in range(1, longest + 1) for part in combinations(value, size)]
        others = [part for size in (1, 2) for part in combinations(members, size)]
        more = [(*value, each) for each in members]
        yield from dict.fromkeys((*parts, *others, *more, tuple(members), value[::-1], ()))


def _chosen(values: list[Any]) -> list[Any]:
    """Return the ends of integers, the smallest odd one above the least, and one between; of tuples not too many."""
    numbers = [each for each in values if type(each) is int]
    if numbers:
        odd = [each for each in numbers if each % 2 and each > numbers[0]]
        kept = {numbers[0], numbers[-1], numbers[len(numbers) // 2], *odd[:1]}
        return [each for each in values if type(each) is not int or each in kept]
    return values[:: max(1, -(-len(values) // MOST_VALUES))]
