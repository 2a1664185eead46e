"""The kernel library's operations by formats, as `tensix.llk.grid` covers or refuses them."""

from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.llk import grid
from parts.records import markdown

MARKS = {tuple(Chip): "yes", (Chip.BLACKHOLE,): "Blackhole"}
"""Mark of a cell by the chips that have it."""


def covered() -> str:
    """Return a row for each format and a column for each operation. A number is that of a reason in `refused`."""
    cells = grid()
    operations = list(dict.fromkeys(each.operation for each in cells))
    rows: dict[str, list[str]] = {}
    reasons = _reasons()
    for cell in cells:
        mark = MARKS[cell.chips] if cell.chips else f"({reasons.index(cell.reason) + 1})"
        rows.setdefault(cell.format, []).append(mark)
    return markdown(["format", *operations], [[f"`{fmt}`", *marks] for fmt, marks in rows.items()])


def refused() -> str:
    """Return the reasons, numbered, as a list."""
    return "\n".join(f"{number}. {reason[0].upper()}{reason[1:]}." for number, reason in enumerate(_reasons(), 1))


def counts() -> dict[str, int]:
    """Return how many cells have a case, and how many there are."""
    cells = grid()
    return {"covered": sum(each.case is not None for each in cells), "cells": len(cells)}


def _reasons() -> list[str]:
    return list(dict.fromkeys(each.reason for each in grid() if not each.chips))
