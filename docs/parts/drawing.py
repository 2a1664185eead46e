"""Block diagrams as SVG: boxes on a grid and arrows between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

BOX_WIDTH, BOX_HEIGHT = 132, 46
COLUMN, ROW = 164, 66
MARGIN = 14
TITLE = 30
FONT = "font-family:system-ui,-apple-system,'Segoe UI',sans-serif"
COLORS = {"memory": "#4477aa", "logic": "#228833", "sum": "#ccbb44", "convert": "#ee6677"}
"""Tinted fills that stay legible on light and on dark pages."""


@dataclass(frozen=True)
class Box:
    """A block.

    Attributes
    ----------
    column, row : its place on the grid; fractions are allowed.
    label, note : first and second line.
    kind : a key of ``COLORS``.
    """

    column: float
    row: float
    label: str
    note: str = ""
    kind: str = "logic"


@dataclass(frozen=True)
class Diagram:
    """Boxes by name, and arrows ``(from, to)`` or ``(from, to, label)`` between them."""

    title: str
    boxes: Mapping[str, Box]
    arrows: Sequence[tuple[str, ...]] = field(default=())

    @property
    def width(self) -> float:
        return max(box.column for box in self.boxes.values()) * COLUMN + BOX_WIDTH + 2 * MARGIN

    @property
    def height(self) -> float:
        return max(box.row for box in self.boxes.values()) * ROW + BOX_HEIGHT + 2 * MARGIN + TITLE


def _text(x: float, y: float, text: str, size: float, anchor: str = "middle", weight: int = 400) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="currentColor" '
        f'style="{FONT};font-size:{size:g}px;font-weight:{weight}">{escape(text)}</text>'
    )


def _box(box: Box) -> str:
    x, y = MARGIN + box.column * COLUMN, MARGIN + TITLE + box.row * ROW
    color = COLORS[box.kind]
    rectangle = (
        f'<rect x="{x:g}" y="{y:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="5" fill="{color}" '
        f'fill-opacity="0.16" stroke="{color}" stroke-width="1.4"/>'
    )
    parts = [rectangle]
    middle = x + BOX_WIDTH / 2
    parts.append(_text(middle, y + (20 if box.note else 28), box.label, 12.5, weight=600))
    if box.note:
        parts.append(_text(middle, y + 36, box.note, 11))
    return "".join(parts)


def _arrow(diagram: Diagram, arrow: tuple[str, ...]) -> str:
    start, end = (diagram.boxes[name] for name in arrow[:2])
    label = arrow[2] if len(arrow) > 2 else ""
    left, top = MARGIN, MARGIN + TITLE
    if end.column == start.column:
        down = end.row > start.row
        x = left + start.column * COLUMN + BOX_WIDTH / 2
        y1, y2 = (top + box.row * ROW + BOX_HEIGHT * (box is start) for box in (start, end))
        if not down:
            y1, y2 = top + start.row * ROW, top + end.row * ROW + BOX_HEIGHT
        points = [(x, y1), (x, y2)]
        place = (x + 6, (y1 + y2) / 2 + 4, "start")
    else:
        forward = end.column > start.column
        x1 = left + start.column * COLUMN + BOX_WIDTH * forward
        x2 = left + end.column * COLUMN + BOX_WIDTH * (not forward)
        y1, y2 = (top + box.row * ROW + BOX_HEIGHT / 2 for box in (start, end))
        bend = x2 - 16 if forward else x2 + 16
        points = [(x1, y1), (x2, y2)] if y1 == y2 else [(x1, y1), (bend, y1), (bend, y2), (x2, y2)]
        place = ((x1 + x2) / 2, min(y1, y2) - 5, "middle")
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    line = f'<polyline points="{path}" fill="none" stroke="currentColor" stroke-width="1.3" marker-end="url(#tip)"/>'
    return line + (_text(place[0], place[1], label, 10, place[2]) if label else "")


def body(diagram: Diagram) -> str:
    """Return a diagram's shapes, for an SVG of several."""
    title = _text(MARGIN, MARGIN + 12, diagram.title, 15, "start", 700)
    arrows = "".join(_arrow(diagram, arrow) for arrow in diagram.arrows)
    return title + arrows + "".join(map(_box, diagram.boxes.values()))


def frame(content: str, width: float, height: float, *, alone: bool = False, label: str = "") -> str:
    """Return shapes as an SVG; one that stands alone in a file adapts its text to dark pages by itself."""
    style = "<style>svg{color:#1f2328}@media(prefers-color-scheme:dark){svg{color:#e6edf3}}</style>" if alone else ""
    tip = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0L8,4L0,8z" fill="currentColor"/></marker></defs>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="{escape(label)}" style="max-width:100%;height:auto">{style}{tip}{content}</svg>'
    )


def svg(diagram: Diagram) -> str:
    """Return one diagram as an SVG."""
    return frame(body(diagram), diagram.width, diagram.height, label=diagram.title)


def stack(diagrams: Sequence[Diagram]) -> str:
    """Return diagrams below each other as an SVG that stands alone in a file."""
    content, height = "", 0.0
    for diagram in diagrams:
        content += f'<g transform="translate(0 {height:g})">{body(diagram)}</g>'
        height += diagram.height + MARGIN
    label = "; ".join(diagram.title for diagram in diagrams)
    return frame(content, max(diagram.width for diagram in diagrams), height, alone=True, label=label) + "\n"
