"""A kept run as the page shows it: the verdict, a row and maps for each format, and charts over all of them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from bitpath.sim.engine import paths
from bitpath.sim.flows.history import Kept
from bitpath.sim.study.page import charts
from bitpath.sim.study.page.links import run_files

WORST = 5
"""Cells of a map of mismatches that are listed below it."""


def plural(number: int, noun: str) -> str:
    """Return a number with its noun: 1 format, 2 formats, 1 mismatch, 2 mismatches."""
    ending = "" if number == 1 else "es" if noun.endswith("ch") else "s"
    return f"{number:,} {noun}{ending}"


def verdict(run: Kept) -> str:
    """Return in one sentence whether golden and RTL agreed, and on what."""
    formats = plural(len(run.records), "format")
    machines = ", ".join(dict.fromkeys(record["machine"] for record in run.records))
    if run.mismatches:
        wrong = [record for record in run.records if record["mismatches"]]
        names = ", ".join(f"{record['machine']} {record['format']}" for record in wrong)
        differ = f"differ in {run.mismatches:,} of {run.compared:,} values"
        return f"Golden and RTL {differ}, in {len(wrong)} of {formats}: {names}."
    return f"Golden and RTL agree in all bits of {plural(run.compared, 'value')}: {formats} on {machines}."


def when(run: Kept) -> str:
    """Return the time at which a run began."""
    return f"{datetime.fromisoformat(run.began):%Y-%m-%d %H:%M} UTC"


def rows(run: Kept) -> list[dict[str, Any]]:
    """Return the records of a run with their labels, shapes, rates and links."""
    return [_row(record) for record in run.records]


def _row(record: dict[str, Any]) -> dict[str, Any]:
    peak, folder = record.get("peak_mac_per_cycle"), record.get("folder")
    shape = record["config"].get("shape", [])
    return record | {
        "label": f"{record['machine']} {record['format']}",
        "shape": " x ".join(map(str, shape)),
        "share": record["mac_per_cycle"] / peak if peak and "mac_per_cycle" in record else None,
        "links": run_files(paths.build_root() / folder) if isinstance(folder, str) else {},
    }


def sqnr_chart(rows: Sequence[dict[str, Any]]) -> str:
    """Return the bars of SQNR; a format without a number has a dash."""
    values = [row.get("sqnr_db") for row in rows]
    texts = ["-" if value is None else f"{value:.1f} dB" for value in values]
    full = max(10.0, *(value or 0 for value in values))
    return charts.bars([row["label"] for row in rows], values, texts, full, "SQNR in dB")


def rate_chart(rows: Sequence[dict[str, Any]]) -> str:
    """Return the bars of multiply-accumulates a cycle in percent of the peak; empty for flows without a peak."""
    rows = [row for row in rows if row["share"] is not None]
    if not rows:
        return ""
    texts = [f"{row['mac_per_cycle']:,.0f} of {row['peak_mac_per_cycle']:,.0f}" for row in rows]
    percent = [100 * row["share"] for row in rows]
    return charts.bars([row["label"] for row in rows], percent, texts, 100, "percent of the peak")


def maps(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the maps of a format as captions and SVG: of its mismatches and distances, or of its error."""
    found, block = row["map"], row["map"].get("block")
    if not block:
        return []
    cell = "a cell is one output" if block == [1, 1] else f"a cell is {block[0]} x {block[1]} outputs"
    drawn = {
        "mismatches": ("mismatches", "mismatches", False),
        "ulp": ("largest distance", "ulp", True),
        "error": ("largest error", "error / RMS", True),
    }
    return [
        (f"{title}; {cell}", charts.heat_map(found[name], block, label, log=log))
        for name, (title, label, log) in drawn.items()
        if name in found
    ]


def worst_cells(row: dict[str, Any]) -> list[tuple[str, str, int, str]]:
    """Return rows, columns, mismatches and largest distance of the cells with most mismatches, the most distant first."""
    found = row["map"]
    if "mismatches" not in found:
        return []
    height, width = found["block"]
    ulp = found.get("ulp")
    counted = [
        (count, ulp[m][n] if ulp else None, m, n)
        for m, line in enumerate(found["mismatches"])
        for n, count in enumerate(line)
        if count
    ]
    counted.sort(key=lambda each: (-each[0], -(each[1] or 0)))
    return [(_span(m, height), _span(n, width), count, _distance(far)) for count, far, m, n in counted[:WORST]]


def _distance(ulp: int | None) -> str:
    return "-" if ulp is None else f"{ulp:,} ulp"


def _span(index: int, side: int) -> str:
    first = index * side
    return str(first) if side == 1 else f"{first} to {first + side - 1}"
