"""Plots of area against error, as a picture and as a page without server or network.

matplotlib draws both: the page contains its SVG. One dependency gives both, and a page has a few hundred KB; a JavaScript
plotting library would add megabytes to every page.
"""

import html
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bitpath.sim.study.explore.points import Point

OWN, OTHER, FRONT = "#c0392b", "#8395a7", "#2c3e50"
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>bitpath: area against error</title>
<style>body {{ font-family: sans-serif; margin: 2em; }} table {{ border-collapse: collapse; }}
td, th {{ border-bottom: 1px solid #ddd; padding: 0.2em 0.8em; text-align: left; }} td.n {{ text-align: right; }}
tr.own {{ color: {own}; }} tr.front td:first-child {{ font-weight: bold; }} svg {{ max-width: 100%; height: auto; }}</style>
</head><body><h1>Area against error</h1>
<p>Area: gate equivalents for each multiply-accumulate in a cycle, {flow}. Red: as the machine is. Line: what no other
beats. Hover over a point for what it is; in the table the front is bold.</p>
{svg}
<table><tr><th>point</th><th>machine</th><th>data</th><th>GE</th><th>error</th><th>configuration</th></tr>
{rows}</table></body></html>
"""


def draw(points: Sequence[Point], records: Sequence[dict[str, Any]], flow: str, png: Path, page: Path) -> None:
    """Write the picture and the page, with a panel for each machine and each kind of data."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: F401  registers the format
    from matplotlib.figure import Figure

    labels = {point.digest: point for point in points}
    machines = list(dict.fromkeys(record["machine"] for record in records))
    data = list(dict.fromkeys(record["data"] for record in records))
    figure = Figure(figsize=(7 * len(data), 5 * len(machines)), layout="constrained")
    axes = figure.subplots(len(machines), len(data), squeeze=False)
    for index, record in enumerate(records):
        axis = axes[machines.index(record["machine"])][data.index(record["data"])]
        point = labels[record["digest"]]
        color = OWN if point.own else OTHER
        axis.plot(record["error"], record["area_ge"], "o", color=color, markersize=6, gid=f"point{index}")
        if point.own:
            place = (record["error"], record["area_ge"])
            axis.annotate(point.label, place, xytext=(5, 4), textcoords="offset points", fontsize=8, color=OWN)
    for row, machine in zip(axes, machines, strict=True):
        for axis, each in zip(row, data, strict=True):
            here = [record for record in records if (record["machine"], record["data"]) == (machine, each)]
            front = sorted((record["error"], record["area_ge"]) for record in here if record["pareto"])
            axis.plot(*zip(*front, strict=True), "-", color=FRONT, linewidth=1, zorder=0)
            axis.set(xscale="log", yscale="log", title=f"{machine}, {each}", ylabel="GE per multiply-accumulate")
            axis.set_xlabel(here[0]["error_metric"])
            axis.margins(x=0.15)  # room for the labels at the sides
    png.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(png, dpi=110)
    text = io.StringIO()
    figure.savefig(text, format="svg")
    page.write_text(
        PAGE.format(
            own=OWN, flow=html.escape(flow), svg=_titled(text.getvalue(), labels, records), rows=_rows(labels, records)
        )
    )


def _titled(svg: str, labels: dict[str, Point], records: Sequence[dict[str, Any]]) -> str:
    """Return the SVG element with a tooltip on each point."""

    def title(match: re.Match[str]) -> str:
        record = records[int(match[1])]
        text = f"{labels[record['digest']].label}: {record['area_ge']:,} GE, error {record['error']:.3g}"
        return f"{match[0]}<title>{html.escape(text)}</title>"

    return re.sub(r'<g id="point(\d+)">', title, svg[svg.index("<svg") :])


def _rows(labels: dict[str, Point], records: Sequence[dict[str, Any]]) -> str:
    lines = []
    for record in sorted(records, key=lambda each: (each["machine"], each["data"], each["error"])):
        point = labels[record["digest"]]
        kinds = " ".join(name for name, is_so in (("own", point.own), ("front", record["pareto"])) if is_so)
        cells = "".join(
            f"<td>{html.escape(str(each))}</td>" for each in (point.label, record["machine"], record["data"])
        )
        numbers = f'<td class="n">{record["area_ge"]:,}</td><td class="n">{record["error"]:.3g}</td>'
        config = html.escape(", ".join(f"{name}={value}" for name, value in record["config"].items()))
        lines.append(
            f'<tr class="{kinds}">{cells}{numbers}<td><details><summary>show</summary>{config}</details></td></tr>'
        )
    return "\n".join(lines)
