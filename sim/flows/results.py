"""Prints and saves the results of a run."""

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from bitpath.rtl.common.files import replaceable, replacing
from bitpath.sim.flows.outcome import Outcome, codes

SHOWN = 20
"""Largest number of mismatches shown."""

COLUMNS = {
    "machine": "machine",
    "format": "format",
    "sim": "simulator",
    "quantized_compared": "quantized",
    "outputs_compared": "compared",
    "mismatches": "mismatches",
    "sqnr_db": "SQNR dB",
    "max_rel_error": "max rel. error",
    "cycles": "cycles",
    "mac_per_cycle": "MAC/cycle",
    "peak_mac_per_cycle": "peak",
    "elements_per_cycle": "elements/cycle",
    "wall_seconds": "seconds",
}


WIDTH = 145
"""Columns of a table that no terminal shows, as in a log."""


def console() -> Console:
    """A console that does not squeeze tables where there is no terminal."""
    console = Console()
    return console if console.is_terminal else Console(width=WIDTH)


def show(console: Console, records: list[dict[str, Any]]) -> None:
    """One row for each record; the records are those of one flow."""
    table = Table()
    columns = {name: heading for name, heading in COLUMNS.items() if name in records[0]}
    for heading in columns.values():
        table.add_column(heading, justify="left" if heading in ("machine", "format", "simulator") else "right")
    for record in records:
        table.add_row(*("-" if record[name] is None else str(record[name]) for name in columns))
    console.print(table)


def explain_mismatches(console: Console, outcome: Outcome) -> None:
    """The first places that differ, with their codes."""
    name = outcome.record["format"]
    if outcome.before is not None:
        _explain(console, f"{name}, quantised", *outcome.before)
    _explain(console, name, outcome.rtl, outcome.golden)


def _explain(console: Console, name: str, rtl: np.ndarray, golden: np.ndarray) -> None:
    rtl, golden = codes(rtl), codes(golden)
    digits = 2 * rtl.itemsize
    for place in np.argwhere(rtl != golden)[:SHOWN]:
        got, expected = (int(matrix[tuple(place)]) for matrix in (rtl, golden))
        where = ", ".join(map(str, place))
        console.print(f"{name}: [{where}] is 0x{got:0{digits}x} in RTL and 0x{expected:0{digits}x} in golden")


def check_writable(path: Path) -> None:
    """Raise OSError unless a file can be written there: said before a long run, not after it."""
    try:
        replaceable(path)
    except OSError as error:
        raise OSError(f"-o: {error}") from None


def save(path: Path, outcome: Outcome) -> None:
    """Write both results to a .npz file, which never is left half written."""
    with replacing(path) as file:
        np.savez(file, result=outcome.rtl, golden=outcome.golden)
