"""Charts of a run as SVG elements, which take the page's colour of text, also in the dark.

matplotlib draws them: SVG is sharp on paper and on telephones, and a chart has a few KB. A library that draws in the browser
would add megabytes of JavaScript to every page.
"""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

import numpy as np

INK = "#010203"
"""Stands for the page's colour of text."""
STYLE: dict[Any, Any] = {
    "font.size": 10,
    "svg.fonttype": "none",
    "svg.hashsalt": "bitpath",
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
} | dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK)
BAR, TRACK, EMPTY = "#3d7ea6", "#8080802e", "#80808024"
WIDTH = 5.2
"""Inches. On a telephone a chart shrinks to about seven tenths, and its text stays legible."""

_NUMBERS = count()
"""Number of each chart, which its identifiers begin with: two charts with the same content stand on one page."""


def bars(labels: Sequence[str], values: Sequence[float | None], texts: Sequence[str], full: float, title: str) -> str:
    """Return horizontal bars, each with a text behind it; A None has no bar. The axis ends at ``full``."""
    with _figure(0.7 + 0.27 * len(labels)) as figure:
        axes = figure.subplots()
        axes.barh(labels, [full] * len(labels), 0.62, color=TRACK)
        axes.barh(labels, [value or 0 for value in values], 0.62, color=BAR)
        for row, text in enumerate(texts):
            axes.annotate(text, (full, row), xytext=(5, 0), textcoords="offset points", va="center")
        axes.invert_yaxis()
        axes.set_xlim(0, full)
        axes.tick_params("y", length=0)
        axes.spines["left"].set_visible(False)
        return _svg(figure, title)


def heat_map(cells: Sequence[Sequence[float | None]], block: Sequence[int], label: str, *, log: bool = False) -> str:
    """Return a map of a matrix; a cell covers a block of rows and columns, and an empty or zero one stays grey.

    ``log`` gives the scale powers of ten; without it the numbers are counts.
    """
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap, LogNorm, Normalize
    from matplotlib.ticker import MaxNLocator

    values = np.array([[np.nan if cell is None else cell for cell in row] for row in cells], float)
    shown = np.ma.masked_where(~(values > 0), values)
    low, high = (float(shown.min()), float(shown.max())) if shown.count() else (1.0, 1.0)
    norm = LogNorm(low, max(high, 10 * low)) if log else Normalize(0, high)
    rows, columns = len(cells) * block[0], len(cells[0]) * block[1]
    with _figure(float(np.clip(4 * rows / columns, 1.2, 4.6)) + 0.6) as figure:
        axes = figure.subplots()
        axes.set_facecolor(EMPTY)
        around = {"extent": (0, columns, rows, 0), "aspect": "auto", "interpolation": "none"}
        # Without the darkest fifth, which would not show on a dark page.
        colours = ListedColormap(colormaps["plasma"](np.linspace(0.2, 1, 256)))
        picture = axes.imshow(shown, cmap=colours, norm=norm, **around)
        for axis in (axes.xaxis, axes.yaxis):
            axis.get_major_locator().set_params(integer=True)
        axes.set(xlabel="column", ylabel="row")
        figure.colorbar(picture, ax=axes, label=label, ticks=None if log else MaxNLocator(integer=True))
        return _svg(figure, f"map: {label}")


@contextmanager
def _figure(height: float) -> Iterator[Any]:
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: F401  registers the format
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        yield Figure(figsize=(WIDTH, height), layout="constrained", facecolor="none")


def _svg(figure: Any, title: str) -> str:
    """Return the SVG element alone, without identifiers that another chart has too."""
    text = io.StringIO()
    figure.savefig(text, format="svg")
    svg = text.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    used = set(re.findall(r'(?:href="|url\()#([\w-]+)', svg))
    chart = next(_NUMBERS)
    svg = re.sub(r' id="([^"]+)"', lambda found: f' id="chart{chart}-{found[1]}"' if found[1] in used else "", svg)
    svg = re.sub(r'(href="|url\()#', rf"\1#chart{chart}-", svg)
    return svg.replace(INK, "currentColor").replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)
