"""The house: which folder imports which, read from the syntax trees, as a matrix and as figures."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WINGS = ("golden", "rtl", "verif", "sim", "bitpath")
COLORS = {"bitpath": "#aa3377", "golden": "#ccbb44", "rtl": "#4477aa", "verif": "#228833", "sim": "#ee6677"}
CELL, LEFT, TOP = 13, 190, 14


def _is_test(path: Path) -> bool:
    return path.name.startswith("test_") or path.name == "conftest.py" or path.is_relative_to(ROOT / "verif/tests")


@cache
def _modules() -> dict[str, Path]:
    files = (file for wing in WINGS for file in sorted((ROOT / wing).rglob("*.py")))
    return {_module(file): file for file in files}


def _module(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts if parts[0] == "bitpath" else ("bitpath", *parts)).removesuffix(".__init__")


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in _modules() else node.module


def _room(path: Path) -> str:
    return str(path.parent.relative_to(ROOT))


@cache
def arrows() -> dict[str, dict[str, int]]:
    """Return for each folder the folders that its files import, with the number of imports. Tests count for nothing."""
    found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for path in _modules().values():
        if _is_test(path):
            continue
        here = found[_room(path)]
        for name in _imported(path):
            # The package's face alone: its folder's files are asked for by their own names.
            if name in _modules() and name.count(".") > 1 and _room(_modules()[name]) != _room(path):
                here[_room(_modules()[name])] += 1
    return found


def order() -> list[str]:
    """Return the folders so that each stands behind all that it imports; a circle raises CycleError."""
    graph = arrows()
    sorter = TopologicalSorter({room: set(graph[room]) for room in sorted(graph)})
    sorter.prepare()
    placed: list[str] = []
    ready = sorted(sorter.get_ready())
    while ready:
        # Stay within a wing and a machine as long as something there is ready.
        last = placed[-1].split("/") if placed else ["golden"]
        ready.sort(key=lambda room: (WINGS.index(room.split("/")[0]), room.split("/")[:2] != last[:2], room))
        room = ready.pop(0)
        placed.append(room)
        sorter.done(room)
        ready += sorter.get_ready()
    return placed


def matrix() -> str:
    """Draw the dependency matrix: a row imports the columns that are filled."""
    graph = arrows()
    imported = {other for others in graph.values() for other in others}
    rooms = [room for room in order() if graph[room] or room in imported]
    size = len(rooms) * CELL
    width, height = LEFT + size + 8, TOP + size + 8
    head = 'xmlns="http://www.w3.org/2000/svg" role="img" aria-label="Which folder imports which" fill="currentColor"'
    style = "max-width:100%;height:auto;font:9px sans-serif"
    parts = [f'<svg {head} viewBox="0 0 {width} {height}" width="{width}" height="{height}" style="{style}">']
    for place, room in enumerate(rooms):
        y = TOP + place * CELL
        parts.append(f'<text x="{LEFT - 6}" y="{y + 10}" text-anchor="end">{escape(room)}</text>')
        x = LEFT + place * CELL
        color = COLORS[room.split("/")[0]]
        parts.append(f'<rect x="{x}" y="{y}" width="{CELL - 1}" height="{CELL - 1}" fill="{color}"/>')
        for other, count in graph[room].items():
            x = LEFT + rooms.index(other) * CELL
            shade = min(0.35 + 0.08 * count, 0.9)
            parts.append(
                f'<rect x="{x}" y="{y}" width="{CELL - 1}" height="{CELL - 1}" fill="{COLORS[other.split("/")[0]]}" '
                f'fill-opacity="{shade:.2f}"><title>{escape(room)} imports {escape(other)}, {count} times</title></rect>'
            )
    parts.append(
        f'<rect x="{LEFT - 1}" y="{TOP - 1}" width="{size + 1}" height="{size + 1}" fill="none" stroke="currentColor" '
        'stroke-opacity="0.4"/></svg>'
    )
    return "".join(parts)


def counts() -> list[list[object]]:
    """Return for each wing its folders, files, lines, and the folders of other wings that it imports."""
    rows: list[list[object]] = []
    for wing in WINGS:
        files = [path for path in _modules().values() if path.is_relative_to(ROOT / wing)]
        rooms = {room for room in arrows() if room.split("/")[0] == wing}
        imports = sum(len(arrows()[room]) for room in rooms)
        lines = sum(len(path.read_text().splitlines()) for path in files)
        reads = sorted({other.split("/")[0] for room in rooms for other in arrows()[room]} - {wing})
        rows.append([f"`{wing}/`", len(rooms), len(files), lines, imports, ", ".join(reads) or "none"])
    return rows
