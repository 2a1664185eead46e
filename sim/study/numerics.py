"""Numerics of all machines: presets by name, and the tables of ``bitpath numerics`` with the standing of each field."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from itertools import groupby
from typing import Any, get_args

from bitpath.golden.aie_ml_v2.declarations import choices as aie_ml_v2_choices
from bitpath.golden.aie_ml_v2.declarations import numerics as aie_ml_v2_numerics
from bitpath.golden.formats import dot
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
from bitpath.sim.engine.options import MACHINES

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
        (rates.CORE_RATES, rates.TRAINIUM2_CORE_RATES, rates.TRAINIUM2_COST_RATES),
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
DOT = Texts(presets=dot.PRESETS, numerics=((*dot.PRESETS.values(),),))
"""Numerics of dot products of no particular machine."""
TEXTS = dict(zip(MACHINES, (TRAINIUM3, TENSIX, AIE_ML_V2), strict=True))
