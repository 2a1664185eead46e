"""Tables of numerics and their standing, from the declarations of the machines."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields
from enum import Enum
from typing import Any, get_args

from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.golden.formats.sources import DOCUMENTS, Choice, Kind, Preset, Source

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
