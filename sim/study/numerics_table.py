"""Numerics and their standing as Markdown tables, made from the declarations in golden/spec."""

from collections.abc import Sequence
from dataclasses import fields
from enum import Enum
from typing import Any

from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.golden.formats.presets import Preset
from bitpath.golden.formats.sources import Choice, Source


def presets_table(presets: Sequence[Preset]) -> str:
    """A row for each field of each preset; a preset after the first shows only where it differs."""
    rows = []
    for index, preset in enumerate(presets):
        for field in fields(preset.numerics):
            value, source = getattr(preset.numerics, field.name), preset.sources[field.name]
            first = presets[0]
            if index and (value, source) == (getattr(first.numerics, field.name), first.sources[field.name]):
                continue
            rows.append((preset.name, field.name, _shown(value), *_standing(source)))
    return _table(("preset", "field", "value", "standing", "source"), rows)


def choices_table(choices: Sequence[Choice]) -> str:
    """A row for each choice that has no switch."""
    return _table(
        ("fixed choice", "standing", "source"), [(each.statement, *_standing(each.source)) for each in choices]
    )


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


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
