"""Table of areas and longest paths of a synthesis run."""

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Column, Table

from bitpath.sim.study.synth.configurations import Design

COLUMNS = ("design", "digest", "GE area", "GE fast", "ns fast", "flip-flops", "GE/MAC", "to yardstick", "since last")


def show_synth(
    console: Console,
    found: Sequence[tuple[Design, dict[str, Any]]],
    before: dict[tuple[str, str], dict[str, Any]],
) -> None:
    """Print one row for each design, and below the table the whole configurations.

    ``found`` are designs and their records; ``before`` is the newest earlier record by digest and flow.
    """
    areas = {record["digest"]: record["ge_area"] for _, record in found}
    numbers = (Column(name, justify="right") for name in COLUMNS[2:])
    table = Table(*COLUMNS[:2], *numbers, title=found[0][1]["flow"])
    for design, record in found:
        last = before.get((record["digest"], record["flow"]))
        yardstick = areas.get(design.yardstick.digest) if design.yardstick else None
        table.add_row(
            design.name,
            design.digest,
            f"{record['ge_area']:,.0f}",
            f"{record['ge_fast']:,.0f}",
            f"{record['ns_fast']:.2f}",
            f"{record['flip_flops']:,}",
            f"{record['ge_area'] / design.macs:,.0f}" if design.macs else "-",
            f"{record['ge_area'] / yardstick:.2f}" if yardstick else "-",
            f"{100 * (record['ge_area'] / last['ge_area'] - 1):+.1f} %" if last else "new",
        )
    console.print(table)
    for design, _ in found:
        console.print(f"{design.digest}: {json.dumps(design.full_config)}", soft_wrap=True, highlight=False)
