"""Tables of NKI's releases: what changed with each, and the parameters of the instructions."""

import inspect
from collections.abc import Mapping
from enum import Enum
from typing import Any

from bitpath.golden.nki import RELEASES
from bitpath.golden.nki.isa import instructions as isa
from parts.records import markdown

OWN_TABLES = ("sdk", "nki", "parameters")
"""Fields that head the rows, and the one that has a table of its own."""


def changes() -> str:
    """Return the fields of the oldest release, and of each later one those that changed with it."""
    rows, before = [], None
    for name, preset in RELEASES.items():
        own = preset.numerics
        for field, source in preset.sources.items():
            value = getattr(own, field)
            if field not in OWN_TABLES and (before is None or value != getattr(before, field)):
                rows.append([name, own.nki, f"`{field}`", _shown(value), source.kind, source.where])
        before = own
    return markdown(["release", "NKI", "field", "value", "standing", "source"], rows)


def parameters() -> str:
    """Return the parameters of each instruction that changed, with the release from which they hold."""
    opcodes = sorted({opcode for preset in RELEASES.values() for opcode in preset.numerics.parameters})
    rows = []
    for opcode in opcodes:
        own = inspect.signature(getattr(isa, opcode)).parameters.values()
        newest = " ".join(each.name for each in own if each.kind is not each.KEYWORD_ONLY)
        before: str | None = ""
        for name, preset in RELEASES.items():
            names = preset.numerics.parameters.get(opcode, newest)
            if names != before:
                text = "no such instruction" if names is None else ", ".join(names.split()) or "none"
                rows.append([f"`{opcode}`", name, text])
            before = names
    return markdown(["instruction", "from release", "parameters"], rows)


def _shown(value: Any) -> str:
    match value:
        case Mapping() if value and all(isinstance(size, int) for size in value):
            return f"{value[4]:,} FP32, {value[2]:,} BF16"
        case Mapping():
            return ", ".join(f"{name}: {_shown(each)}" for name, each in value.items()) or "none"
        case tuple():
            return ", ".join(value)
        case bool():
            return "yes" if value else "no"
        case Enum():
            return value.value
        case _:
            return "none" if value is None else str(value)
