"""A unit as a probe sees it: numerics and operations, its variants, and the classes of variants with equal results."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from itertools import product
from typing import Any, get_args, get_type_hints

import numpy as np

from bitpath.golden.arrays.arguments import check_choice
from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.golden.formats.sources import Preset

# A unit of a machine as a probe sees it: its numerics, the operations that read them, and candidate operands.


Dots = Mapping[str, np.ndarray]
"""Operands of an operation by name, each [N, ...] for N dots."""


@dataclass(frozen=True)
class Operand:
    """An operand of one dot: numpy's name of the dtype of its codes or register words, and their shape."""

    dtype: str
    shape: tuple[int, ...] = ()


@dataclass(frozen=True)
class Operation:
    """An operation of a machine on one lane.

    Attributes
    ----------
    name : as files and messages have it.
    operands : of one dot, in the order of the device script.
    result : the W raw words of the result: numpy's name of their dtype, unsigned, and their shape [W].
    golden : (numerics, **settings, **dots) to raw words [N, W].
    exact : (numerics, **settings, **operands of one dot as integers and lists) to W raw words, by the scalar authority.
    pool : (seed) to candidate dots, the hand-made ones first.
    settings : what does not differ between dots, such as formats.
    """

    name: str
    operands: Mapping[str, Operand]
    result: Operand
    golden: Callable[..., np.ndarray]
    exact: Callable[..., list[int]]
    pool: Callable[[int], Dots]
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A numerics dataclass of a machine, and the operations that read it.

    Attributes
    ----------
    name : as messages have it.
    presets : the default one first.
    operations : all that read the numerics.
    values : admissible values of a field by its name, or of all fields of a type, where the type does not state them.
    left_out : fields that are declarations, with the reason; every variant has the default preset's value.
    no_effect : fields whose variants are known to compute equal bits, with the reason.
    """

    name: str
    presets: Sequence[Preset[Any]]
    operations: Sequence[Operation]
    values: Mapping[str | type, Sequence[Any]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    no_effect: Mapping[str, str] = field(default_factory=dict)


def stacked(*dots: Dots) -> dict[str, np.ndarray]:
    """Return dots one after the other."""
    return {name: np.concatenate([each[name] for each in dots]) for name in dots[0]}


def count(dots: Dots) -> int:
    """Return the number of dots."""
    return len(next(iter(dots.values())))


# Variants of a unit's numerics: its presets, and its default preset with one field changed.


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


# Results of all variants on all dots, and the classes of variants whose results are equal.


Results = Mapping[str, np.ndarray]
"""Raw words [N, W] by operation."""


def results(unit: Unit, numerics: object, dots: Mapping[str, Dots]) -> dict[str, np.ndarray]:
    """Return golden's raw words of a unit's operations, those that `dots` has."""
    return {
        each.name: each.golden(numerics, **each.settings, **dots[each.name])
        for each in unit.operations
        if each.name in dots
    }


def exact_results(unit: Unit, numerics: object, dots: Mapping[str, Dots]) -> dict[str, np.ndarray]:
    """Return the same from the scalar authority."""
    return {each.name: _exact(each, numerics, dots[each.name]) for each in unit.operations if each.name in dots}


def _exact(operation: Operation, numerics: object, dots: Dots) -> np.ndarray:
    rows = zip(*(dots[name].tolist() for name in operation.operands), strict=True)
    words = [
        operation.exact(numerics, **operation.settings, **dict(zip(operation.operands, row, strict=True)))
        for row in rows
    ]
    return np.array(words, operation.result.dtype)


def classes(variants: Sequence[Variant], found: Sequence[Results]) -> list[list[Variant]]:
    """Return the variants in groups of equal results, in the order of their first members."""
    groups: dict[bytes, list[Variant]] = {}
    for variant, words in zip(variants, found, strict=True):
        groups.setdefault(b"".join(each.tobytes() for each in words.values()), []).append(variant)
    return list(groups.values())


def labels(found: Sequence[Results]) -> np.ndarray:
    """Return integers [V, N]: two variants have the same one at a dot where their words are equal."""
    columns = []
    for name in found[0]:
        words = np.stack([each[name] for each in found])  # [V, N, W]
        for n in range(words.shape[1]):
            columns.append(np.unique(words[:, n], axis=0, return_inverse=True)[1].reshape(-1))
    return np.stack(columns, axis=1)
