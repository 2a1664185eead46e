"""Variants of a unit's numerics: its presets, and its default preset with one field changed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from itertools import product
from typing import Any, get_args, get_type_hints

from bitpath.golden.arrays.arguments import check_choice
from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.sim.study.probe.unit import Unit


@dataclass(frozen=True, kw_only=True)
class Variant:
    """Numerics with a name: a preset's, or ``field=value`` for the default preset with one field changed.

    `field` is the changed field; "" for a preset.
    """

    name: str
    field: str
    numerics: Any


def variants(unit: Unit, chosen: Sequence[str] = (), base: str = "") -> list[Variant]:
    """Return the presets, and all single-field variants of one of them or those of the chosen fields alone.

    A field's values are those of its type that its dataclass does not refuse. In all variants, fields of
    ``unit.left_out`` have the first preset's value.

    Parameters
    ----------
    base : the preset that is varied; the first where the unit has none of this name.
    """
    first = unit.presets[0].numerics
    kept = {name: getattr(first, name) for name in unit.left_out}
    found = [Variant(name=each.name, field="", numerics=replace(each.numerics, **kept)) for each in unit.presets]
    numerics = next((each.numerics for each in found if each.name == base), found[0].numerics)
    for name in probed_fields(unit):
        if not chosen or name in chosen:
            found += _of_field(unit, numerics, name)
    return found


def probed_fields(unit: Unit) -> list[str]:
    """Return the names of the fields that a probe may vary."""
    return [each.name for each in fields(unit.presets[0].numerics) if each.name not in unit.left_out]


def reason(unit: Unit, field: str) -> str:
    """Return why the variants of a field may compute what its default does; "" where nothing is known."""
    where = unit.presets[0].sources[field].where
    return unit.no_effect.get(field, where if where.startswith("no effect") else "")


def check_fields(units: Sequence[Unit], chosen: Sequence[str]) -> None:
    """Raise ValueError for a field that no unit has, or that is left out of probes."""
    for name in chosen:
        for unit in units:
            if name in unit.left_out:
                raise ValueError(f"the field {name} is not probed: {unit.left_out[name]}")
        check_choice("field", name, [each for unit in units for each in probed_fields(unit)])


def shown(value: Any) -> str:
    """Return a field's value as a name has it."""
    return value.name if isinstance(value, Enum | FloatFormat) else str(value)


def _of_field(unit: Unit, default: Any, name: str) -> Iterator[Variant]:
    kind = get_type_hints(type(default))[name]
    for value in unit.values[name] if name in unit.values else _values(unit, kind):
        if value == getattr(default, name):
            continue
        try:
            numerics = replace(default, **{name: value})
        except ValueError:
            continue  # the dataclass refuses it
        yield Variant(name=f"{name}={shown(value)}", field=name, numerics=numerics)


def _values(unit: Unit, kind: Any) -> Sequence[Any]:
    """Return the values of a type: those of a union's members, and all that a dataclass does not refuse."""
    if kind in unit.values:
        return unit.values[kind]
    if kind is bool:
        return False, True
    if kind is type(None):
        return (None,)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return list(kind)
    if is_dataclass(kind):
        return list(_records(unit, kind))
    members = get_args(kind)
    if not members:
        raise ValueError(f"{unit.name} must list the values of a field of type {kind!r}")
    return [value for member in members for value in _values(unit, member)]


def _records(unit: Unit, kind: Any) -> Iterator[Any]:
    hints = get_type_hints(kind)
    for values in product(*(_values(unit, hints[each.name]) for each in fields(kind))):
        try:
            yield kind(**dict(zip(hints, values, strict=True)))
        except ValueError:
            continue
