"""Coverage as a table, a picture and a list of records."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

REPORT, PICTURE = "coverage.json", "coverage.png"
ALL, GOAL = 100.0, 98.0
"""Goals in percent: ALL for bins, GOAL for lines and toggles without waived points."""
KINDS = {"functional_percent": "bins", "line_percent": "lines", "toggle_percent": "toggles"}
_COLORS = ("#4477aa", "#ccbb44", "#228833")


def failures(record: Mapping[str, Any]) -> list[str]:
    """Return one sentence for each kind of coverage below its goal."""
    goals = {"functional_percent": ALL, "line_percent": GOAL, "toggle_percent": GOAL}
    return [
        f"{record['unit']}: {record[name]:.2f} % of {KINDS[name]}, the goal is {goal:g} %"
        for name, goal in goals.items()
        if record[name] < goal
    ]


def is_whole(record: Mapping[str, Any]) -> bool:
    """Return True if a record has the fields that the picture shows."""
    return record.keys() >= KINDS.keys()


def show(console: Any, records: Sequence[Mapping[str, Any]]) -> None:
    """Print a table with one row a unit."""
    from rich.table import Column, Table

    names = ("bins", "% hit", "lines", "% hit", "bits", "% toggled", "proved constant", "waived")
    table = Table("unit", *(Column(name, justify="right") for name in names), title="Coverage")
    for record in records:
        table.add_row(
            record["unit"],
            f"{record['bins']}",
            f"{record['functional_percent']:.2f}",
            f"{record['lines'] - record['lines_waived']}",
            f"{record['line_percent']:.2f}",
            f"{record['bits'] - record['bits_waived']}",
            f"{record['toggle_percent']:.2f}",
            f"{record['bits_proved_constant']}",
            f"{record['waived']}",
        )
    console.print(table)


def draw(records: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Draw three bars a unit, from 90 % or the lowest value to 100 %."""
    from bitpath.sim.engine.tools import require_extra

    require_extra("plot")
    from matplotlib.figure import Figure

    lowest = min(record[name] for record in records for name in KINDS)
    figure = Figure(figsize=(8, 1.5 + 0.45 * len(records)), layout="constrained")
    axes = figure.subplots()
    for place, (name, label) in enumerate(KINDS.items()):
        heights = [row + (place - 1) * 0.27 for row in range(len(records))]
        axes.barh(heights, [record[name] for record in records], 0.25, label=label, color=_COLORS[place])
    axes.axvline(GOAL, color="black", linewidth=0.8, linestyle=":")
    axes.set_yticks(range(len(records)), [record["unit"] for record in records])
    axes.invert_yaxis()
    axes.set_xlim(min(90.0, lowest - 1), 100.0)
    axes.set_xlabel("percent of what is not waived")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08 if len(records) > 8 else -0.25), ncols=len(KINDS))
    figure.savefig(file)
