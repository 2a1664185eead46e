"""Table of the points on the front and of the machines' own numerics."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Column, Table

from bitpath.sim.study.explore.points import Point


def show_front(console: Console, points: Sequence[Point], records: Sequence[dict[str, Any]]) -> None:
    """Print one row for each record of a machine's own numerics or on a front, by increasing error."""
    labels = {point.digest: point for point in points}
    numbers = (Column(name, justify="right") for name in ("GE/MAC", "error"))
    table = Table("machine", "data", "point", *numbers, "front", "own")
    for record in sorted(records, key=lambda each: (each["machine"], each["data"], each["error"])):
        point = labels[record["digest"]]
        if point.own or record["pareto"]:
            area = "-" if record["area_ge"] is None else f"{record['area_ge']:,.0f}"
            marks = ("yes" if is_so else "" for is_so in (record["pareto"], point.own))
            table.add_row(record["machine"], record["data"], point.label, area, f"{record['error']:.3g}", *marks)
    console.print(table)
