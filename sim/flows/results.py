"""Prints and saves the results of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from bitpath.rtl.common.files import replaceable, replacing
from bitpath.sim.flows.outcome import FlowRun, Outcome, codes
from bitpath.verif.kit import mismatches
from bitpath.verif.kit.bench import PERIOD_NS

COLUMNS = {
    "machine": ("machine", 9),
    "format": ("format", 14),
    "sim": ("simulator", 9),
    "quantized_compared": ("quantized", 9),
    "staged_compared": ("in stages", 9),
    "outputs_compared": ("compared", 8),
    "mismatches": ("mismatches", 10),
    "sqnr_db": ("SQNR dB", 7),
    "max_rel_error": ("max error", 9),
    "cycles": ("cycles", 7),
    "time_us": ("us", 7),
    "mac_per_cycle": ("MAC/cycle", 9),
    "peak_mac_per_cycle": ("peak", 7),
    "elements_per_cycle": ("elements/cycle", 14),
    "wall_seconds": ("seconds", 7),
}
"""Columns of a run's rows: heading and width by the name in its record. The error is relative to float64."""


TABLES = ("stages", "layers", "engines", "classes", "chips")
"""Fields of a record that are tables."""
WIDTH = 147
"""Columns of a table that no terminal shows, as in a log."""


def console(*, quiet: bool = False) -> Console:
    """A console that does not squeeze tables where there is no terminal."""
    console = Console(quiet=quiet)
    return console if console.is_terminal else Console(quiet=quiet, width=WIDTH)


def _format(name: str, scale_rule: str | None) -> str:
    """The format's name, and the scale rule if it is not the default."""
    return name if scale_rule in (None, "ocp") else f"{name} {scale_rule}"


def show(console: Console, record: dict[str, Any], *, first: bool) -> None:
    """Print a record as a row, the first one below the headings. Columns have fixed widths: a later row is unknown now."""
    table = Table(
        box=None, pad_edge=False, collapse_padding=True, show_header=first or any(record.get(name) for name in TABLES)
    )
    columns = {name: column for name, column in COLUMNS.items() if name in record}
    for heading, width in columns.values():
        text = heading in ("machine", "format", "simulator")
        table.add_column(heading, width=width, justify="left" if text else "right", overflow="fold")
    shown = record | {"format": _format(record["format"], record.get("config", {}).get("scale_rule"))}
    table.add_row(*("-" if shown[name] is None else str(shown[name]) for name in columns))
    console.print(table)
    for name in TABLES:
        if record.get(name):
            _show_rows(console, name, record[name])


def _show_rows(console: Console, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table of a record: rows of one kind, whose fields are its columns."""
    table = Table(box=None, pad_edge=False, title=f"\n{title}", title_justify="left", title_style="bold")
    for column in rows[0]:
        table.add_column(
            column.replace("_", " "), justify="left" if isinstance(rows[0][column], str) else "right", no_wrap=True
        )
    for row in rows:
        table.add_row(*("-" if value is None else str(value) for value in row.values()))
    console.print(table)


def mismatch_report(run: FlowRun, outcome: Outcome) -> str:
    """Return the first place that differs with its operands, and one line for each further place; empty if none does."""
    title = f"{run.machine} {_format(run.format_name, run.scale_rule)} on {run.simulator}"
    parts: list[tuple[Any, ...]] = []
    if outcome.before is not None:
        parts.append((f"{title}, {run.before}", *outcome.before, run.shown_before, None))
    parts.append((title, outcome.rtl, outcome.golden, run.shown, outcome.times))
    found: list[tuple[str, list[mismatches.Difference], mismatches.Shown]] = []
    count = 0
    for name, rtl, golden, shown, times in parts:
        got, expected = codes(rtl), codes(golden)
        places = np.argwhere(got != expected).tolist()
        count += len(places)
        for place in places[: mismatches.SHOWN + 1 - len(found)]:
            at, own = tuple(place), shown(*place)
            differing = mismatches.differences(8 * got.itemsize, own.formats or {}, int(got[at]), int(expected[at]))
            when = "" if times is None else f", read {moment_text(int(times[at]))}"
            found.append((f"{name}, [{', '.join(map(str, place))}]{when}", differing, own))
    if not found:
        return ""
    head, differing, own = found[0]
    first = mismatches.full_text(head, differing, replace(own, replay=run.replay))
    lines = [f"  {mismatches.line_text(head, differing)}" for head, differing, _ in found[1:]]
    return mismatches.report_text(first, lines, count - 1)


def moment_text(time_ps: int) -> str:
    """Return a simulated time as text: at 635 ns, cycle 63."""
    return f"at {time_ps / 1000:.12g} ns, cycle {time_ps // (1000 * PERIOD_NS)}"


def check_writable(path: Path) -> None:
    """Raise OSError unless a file can be written there: said before a long run, not after it."""
    try:
        replaceable(path)
    except OSError as error:
        raise OSError(f"-o: {error}") from None


def save(path: Path, outcome: Outcome) -> None:
    """Write both results to a .npz file, which never is left half written; BF16 as float32, which numpy reads by itself."""
    result, golden = (
        each if each.dtype.isbuiltin == 1 else each.astype(np.float32) for each in (outcome.rtl, outcome.golden)
    )
    with replacing(path) as file:
        np.savez(file, result=result, golden=golden)
