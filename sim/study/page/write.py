"""Writes the page of ``bitpath report`` from the state of all checks."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bitpath.rtl.common.files import write_whole
from bitpath.sim.engine import paths, results
from bitpath.sim.engine.results import Records
from bitpath.sim.engine.tools import require_extra
from bitpath.sim.flows.history import Kept, commit
from bitpath.sim.flows.texts import TEXTS
from bitpath.sim.study.numerics_table import numerics_rows, standings
from bitpath.sim.study.page import result
from bitpath.sim.study.page.links import relative, unit_runs
from bitpath.sim.study.page.state import FOUND, RUN, State, cell, columns, findings, passed, tally

TEMPLATE, PAGE = "page.html.jinja", "report.html"
SHOWN_RUNS = 100
"""Runs of the history that the page shows, the last ones."""
LISTED = 8
"""Entries of a list that a table's cell shows."""
CAMPAIGNS = {
    "ledger": ("Silicon ledger", "Public statements about the real chips, and what golden makes of them."),
    "mutation": ("Mutation", "Small faults put into the design and golden, and those that tests detect."),
    "formal": ("Formal", "Properties proved for all inputs, each with a sabotage that the proof detects."),
    "coverage": ("Coverage", "Bins, lines and bits that each unit's bench reaches."),
    "agreement": ("Agreement", "Amaranth's simulator, Icarus, Verilator and the gate netlist give the same bits."),
    "deep": ("Volume", "Random vectors and whole ranges through the units, compared with golden."),
    "deep_quick": ("Volume, short runs", "The same with fewer vectors."),
}
"""Reports of campaigns by name, each with its title and the meaning of its figures."""
COST = {
    "synth": ("Synthesis", "Area in gate equivalents and the longest path of each unit."),
    "explore": ("Exploration", "Area against error over numerics."),
    "bench": ("Speed", "Golden and the simulation of the engines."),
    "bench_quick": ("Speed, short runs", "The same with fewer rounds."),
}
"""The same for reports of cost."""


def write_page(state: State) -> Path:
    """Write build/reports/report.html and return its path.

    Raises MissingToolError if there is a run to draw and matplotlib is missing.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(Path(__file__).parent)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"cell": _cell, "digits": _digits, "when": result.when, "verdict": result.verdict}
    environment.globals |= {"plural": result.plural}
    file = paths.reports() / PAGE
    write_whole(file, environment.get_template(TEMPLATE).render(_content(state)))
    return file


def _content(state: State) -> dict[str, Any]:
    runs = state.runs[-SHOWN_RUNS:]
    shown = {*CAMPAIGNS, *COST, RUN}
    others = {name: (name, "") for name in sorted({*state.measured, *state.stale} - shown)}
    return {
        "made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "commit": commit(),
        "last": _last(state.runs[-1], state) if state.runs else None,
        "runs": runs[::-1],
        "earlier": len(state.runs) - len(runs),
        "tally": state.tally,
        "units": _units(state),
        "found": tuple(FOUND),
        "campaigns": _reports(state, CAMPAIGNS),
        "cost": _reports(state, COST | others),
        "pictures": {file.name: relative(file) for file in sorted(paths.reports().glob("*.*")) if _is_picture(file)},
        "numerics": _numerics(),
        "damaged": [paths.shown(file) for file in state.damaged],
        "PASSED": results.PASSED,
        "FAILED": results.FAILED,
    }


def _last(run: Kept, state: State) -> dict[str, Any]:
    """Return the last run in full."""
    rows = result.rows(run)
    began = datetime.fromisoformat(run.began).timestamp()
    require_extra("plot")
    return {
        "run": run,
        "rows": rows,
        "stale": began < state.newest_source,
        "sqnr": result.sqnr_chart(rows),
        "rate": result.rate_chart(rows),
        # Formats with mismatches come first.
        "maps": [
            {"row": row, "maps": result.maps(row), "worst": result.worst_cells(row)}
            for row in sorted(rows, key=lambda row: not row["mismatches"])
        ],
    }


def _units(state: State) -> list[dict[str, Any]]:
    """Return each unit with its items, findings and links; units with a failed item first."""
    links = unit_runs()
    units = []
    for unit, items in state.by_unit().items():
        found = [whole for _, whole in items]
        units.append(
            {
                "name": unit,
                "items": items,
                "tally": tally(found),
                "passed": passed(found) == len(found),
                "failed": any(whole.status == results.FAILED for whole in found),
                "compared": sum(whole.compared for whole in found),
                "found": findings(state.measured, unit),
                "links": links.get(unit, {}),
            }
        )
    return sorted(units, key=lambda unit: not unit["failed"])


def _reports(state: State, titles: dict[str, tuple[str, str]]) -> list[dict[str, Any]]:
    """Return tables of the reports that exist, current and older than the sources."""
    tables = []
    for name, (title, text) in titles.items():
        for stale, found in ((False, state.measured), (True, state.stale)):
            if name in found:
                summary = FOUND[name](found[name]) if name in FOUND else ""
                tables.append({"title": title, "text": text, "stale": stale, "summary": summary, **_table(found[name])})
    return tables


def _table(records: Records) -> dict[str, Any]:
    names = columns(records)
    return {"columns": names, "rows": [[record.get(name, "") for name in names] for record in records]}


def _numerics() -> list[dict[str, Any]]:
    """Return each machine with its counts of statements by standing, and its tables."""
    return [
        {
            "machine": name,
            "standings": standings(machine.numerics),
            "tables": [dict(zip(("columns", "rows"), numerics_rows(rows), strict=True)) for rows in machine.numerics],
        }
        for name, machine in TEXTS.items()
    ]


def _is_picture(file: Path) -> bool:
    """Return True for the pictures and pages that other commands leave among the reports."""
    return file.suffix in (".html", ".png") and file.name != PAGE


def _cell(value: Any) -> str:
    """Return a value of a table as text, with separated thousands."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        more = f" and {len(value) - LISTED} more" if len(value) > LISTED else ""
        return ", ".join(map(_cell, value[:LISTED])) + more
    return "-" if value is None else cell(value)


def _digits(value: float | None, digits: int, factor: float = 1, unit: str = "") -> str:
    """Return a number with a fixed number of digits behind the point."""
    return "-" if value is None else f"{value * factor:,.{digits}f}{unit}"
