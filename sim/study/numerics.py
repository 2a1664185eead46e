"""Numerics of all machines: presets by name, and the tables of ``bitpath numerics`` with the standing of each field."""

import inspect
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from itertools import groupby
from typing import Any, get_args, get_type_hints

from amaranth.hdl import UnusedElaboratable

from bitpath.golden.aie_ml_v2.declarations import choices as aie_ml_v2_choices
from bitpath.golden.aie_ml_v2.declarations import numerics as aie_ml_v2_numerics
from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.golden.formats.sources import DOCUMENTS, Choice, Kind, Preset, Source
from bitpath.golden.nki.declarations import errors as nki_errors
from bitpath.golden.tensix.declarations import numerics as tensix_numerics
from bitpath.golden.trainium3.declarations import (
    dma,
    dtypes,
    engines,
    memory,
    quad_mx,
    rates,
    tensor,
    vector,
)
from bitpath.rtl.common.config import to_dict
from bitpath.rtl.common.unit import Unit
from bitpath.rtl.flat import flat_ports, port_table
from bitpath.sim.engine.configure import PRESETS
from bitpath.sim.engine.options import MACHINES

# Records of units: purpose, fields of the configuration, and ports, for people and programs.


ENTRY = re.compile(r"^(\w[\w, ]*) : (.*(?:\n +.*)*)", re.MULTILINE)
"""An entry of the attributes in a docstring: names, and text that continues in indented lines."""
ROLE = re.compile(r":\w+:`~?([^`]+)`|`+([^`]+)`+")


def unit_record(unit: Unit) -> dict[str, Any]:
    """Return name, machine, summary, folder and bench of a unit, and the fields of its configuration."""
    return {
        "name": unit.name,
        "machine": unit.machine,
        "summary": unit.summary,
        "folder": unit.room,
        "bench": unit.bench,
        "configuration": config_fields(unit.config_type()),
    }


def unit_ports(unit: Unit) -> list[dict[str, Any]]:
    """Return the ports of the flat module in the default configuration, without clock and reset."""
    # The component is made for its signature alone.
    warnings.filterwarnings("ignore", category=UnusedElaboratable)
    return port_table(flat_ports(unit.build(unit.config_type()), ()))


def config_fields(config: Any, path: str = "") -> list[dict[str, Any]]:
    """Return path, default, allowed values and meaning of each field, also of nested configurations.

    The values of numerics are the names of presets. ``allowed`` is None where the type does not list the values; then the
    meaning gives their range.
    """
    found: list[dict[str, Any]] = []
    kinds, meanings = get_type_hints(type(config)), _meanings(type(config))
    for field in fields(config):
        value = getattr(config, field.name)
        presets = {name: each.numerics for name, each in PRESETS.items() if type(each.numerics) is type(value)}
        if is_dataclass(value) and not presets and not isinstance(value, FloatFormat):
            found += config_fields(value, f"{path}{field.name}.")
            continue
        default = next((name for name, each in presets.items() if each == value), to_dict(value))
        allowed = list(presets) or _values(kinds[field.name])
        meaning = meanings.get(field.name, "")
        found.append({"field": path + field.name, "default": default, "allowed": allowed, "meaning": meaning})
    return found


def _values(kind: Any) -> list[Any] | None:
    """Return the values of an enumeration, or of one in a tuple, and of a flag. All other types give None."""
    if kind is bool:
        return [False, True]
    enums = [each for each in (kind, *get_args(kind)) if isinstance(each, type) and issubclass(each, Enum)]
    return [member.value for member in enums[0]] if enums else None


def _meanings(kind: type) -> dict[str, str]:
    """Return the meaning of each field from the docstring of its class."""
    _, _, attributes = (inspect.getdoc(kind) or "").partition("Attributes\n----------\n")
    texts = {names: " ".join(text.split()) for names, text in ENTRY.findall(attributes)}
    plain = {names: ROLE.sub(lambda match: match[1] or match[2], text) for names, text in texts.items()}
    return {name: text for names, text in plain.items() for name in names.split(", ")}


# Tables of numerics and their standing, from the declarations of the machines.


Rows = list[tuple[str, ...]]


def numerics_rows(rows: Sequence[Preset] | Sequence[Choice]) -> tuple[tuple[str, ...], Rows]:
    """Return the headings and rows of the table of presets, or of choices that have no switch."""
    choices = [each for each in rows if isinstance(each, Choice)]
    if not choices:
        headings = ("preset", "field", "value", "standing", "source")
        return headings, _fields([each for each in rows if isinstance(each, Preset)])
    return ("fixed choice", "standing", "source"), [(each.statement, *_standing(each.source)) for each in choices]


def documents(sources: Iterable[str]) -> list[tuple[str, str]]:
    """Return abbreviation and title of each document that sources name."""
    text = "\n".join(sources)
    return [(name, title) for name, title in DOCUMENTS.items() if re.search(rf"(?<![\w-]){re.escape(name)}\b", text)]


def _fields(presets: Sequence[Preset]) -> Rows:
    """Return a row for each field of each preset; a preset after the first shows only where it differs."""
    rows: Rows = []
    for index, preset in enumerate(presets):
        for field in fields(preset.numerics):
            value, source = getattr(preset.numerics, field.name), preset.sources[field.name]
            first = presets[0]
            if index and (value, source) == (getattr(first.numerics, field.name), first.sources[field.name]):
                continue
            rows.append((preset.name, field.name, _shown(value), *_standing(source)))
    return rows


def standings(groups: Iterable[Sequence[Preset] | Sequence[Choice]]) -> dict[str, int]:
    """Count statements by standing: the fields of each group's first preset, and the fixed choices."""
    kinds: Counter[str] = Counter()
    for group in groups:
        first = group[0]
        choices = [each.source for each in group if isinstance(each, Choice)]
        sources = choices if isinstance(first, Choice) else first.sources.values()
        kinds.update(source.kind for source in sources)
    return {kind: kinds[kind] for kind in get_args(Kind)}


def _standing(source: Source) -> tuple[str, str]:
    return source.kind, source.where


def _shown(value: Any) -> str:
    match value:
        case FloatFormat() | Enum():
            return value.name
        case tuple():
            return ", ".join(map(_shown, value))
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)


@dataclass(frozen=True, kw_only=True)
class Texts:
    """Numerics of a machine.

    Attributes
    ----------
    presets : numerics by the names that ``bitpath explain --preset`` takes.
    numerics : tables of ``bitpath numerics``: presets that share a dataclass, or choices.
    """

    presets: Mapping[str, Preset]
    numerics: Sequence[Sequence[Preset] | Sequence[Choice]]


TRAINIUM3 = Texts(
    presets=quad_mx.PRESETS,
    numerics=(
        (*quad_mx.PRESETS.values(),),
        quad_mx.CHOICES,
        *(tuple(group) for _, group in groupby(vector.PRESETS.values(), key=lambda preset: type(preset.numerics))),
        vector.CHOICES,
        dtypes.CHOICES,
        (dma.TRAINIUM3_DMA,),
        dma.CHOICES,
        *(tuple(group) for _, group in groupby(memory.PRESETS.values(), key=lambda preset: type(preset.numerics))),
        memory.CHOICES,
        *(tuple(group) for _, group in groupby(tensor.PRESETS.values(), key=lambda preset: type(preset.numerics))),
        tensor.CHOICES,
        engines.CHOICES,
        vector.GPSIMD_CHOICES,
        (rates.TRAINIUM2, rates.TRAINIUM3),
        (rates.CORE_RATES,),
        rates.CHOICES,
        rates.CORE_CHOICES,
        nki_errors.CHOICES,
    ),
)
TENSIX = Texts(
    presets=tensix_numerics.PRESETS,
    numerics=((*tensix_numerics.PRESETS.values(),), tensix_numerics.CHOICES),
)
AIE_ML_V2 = Texts(
    presets=aie_ml_v2_numerics.PRESETS,
    numerics=((*aie_ml_v2_numerics.PRESETS.values(),), aie_ml_v2_choices.CHOICES),
)
TEXTS = dict(zip(MACHINES, (TRAINIUM3, TENSIX, AIE_ML_V2), strict=True))
