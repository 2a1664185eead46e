"""The state of all checks: testplans with their last results, reports of other commands, and kept runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitpath.sim.engine import results
from bitpath.sim.engine.results import Records, Result
from bitpath.sim.flows.history import Kept, kept_runs
from bitpath.verif.kit.testplan import Item

REPORT, RUN = "report", "run"
"""Reports that are no measurement: this command's own, and the last run's, which the history holds too."""


@dataclass(frozen=True)
class State:
    """Everything that ``bitpath report`` shows.

    Attributes
    ----------
    items : testplan items with the last result of each test.
    measured, stale : reports of other commands by name, since the sources last changed and before.
    damaged : files that are not whole, from which nothing was taken.
    runs : kept runs, oldest first.
    newest_source : time of the last change of the sources, in seconds of the epoch.
    """

    items: Sequence[tuple[Item, dict[str, Result]]]
    measured: dict[str, Records]
    stale: dict[str, Records]
    damaged: Sequence[Path]
    runs: Sequence[Kept]
    newest_source: float

    @property
    def passed(self) -> int:
        """The number of items whose tests have all passed."""
        return passed([results.over(found) for _, found in self.items])

    @property
    def tally(self) -> str:
        """How many items have passed, or that none of their tests was run."""
        return tally([results.over(found) for _, found in self.items])

    def by_unit(self) -> dict[str, list[tuple[Item, Result]]]:
        """Return each unit's items with their results."""
        units: dict[str, list[tuple[Item, Result]]] = {}
        for item, found in self.items:
            units.setdefault(item.unit, []).append((item, results.over(found)))
        return units


def passed(items: Sequence[Result]) -> int:
    """Return the number of items whose tests have all passed."""
    return sum(each.status == results.PASSED for each in items)


def tally(items: Sequence[Result]) -> str:
    """Return "2 of 3 passed"; "not run" if no test of any item was run."""
    return f"{passed(items)} of {len(items)} passed" if any(each.runs for each in items) else results.MISSING


def gather(items: Sequence[Item]) -> State:
    """Read all results, reports and kept runs."""
    latest = results.latest_results()
    damaged = list(latest.damaged)
    measured, stale = results.run_reports(damaged)
    for each in (measured, stale):
        each.pop(REPORT, None)
    runs = kept_runs(damaged)
    return State([(item, latest.of(item)) for item in items], measured, stale, damaged, runs, results.newest_source())


def findings(measured: dict[str, Records], unit: str) -> list[str]:
    """Return what other commands found for a unit, in the order of `FOUND`; empty texts where they did not run."""
    # Formal's units have their folder in front.
    own = {name: [each for each in measured.get(name, []) if _unit(each) == unit] for name in FOUND}
    return [text(own[name]) if own[name] else "" for name, text in FOUND.items()]


def _unit(record: dict[str, Any]) -> str:
    return str(record.get("unit")).rpartition(".")[2]


def _sum(records: Records, name: str) -> int:
    return sum(record.get(name, 0) for record in records)


def _proved(record: dict[str, Any]) -> bool:
    """Return True if a property is proved and the proof detects its sabotage."""
    return record.get("status") == "proved" and record.get("sabotage_caught") is True


FOUND: dict[str, Callable[[Records], str]] = {
    "mutation": lambda own: f"{_sum(own, 'killed')} of {_sum(own, 'mutants') - _sum(own, 'equivalent')} killed",
    "formal": lambda own: f"{sum(map(_proved, own))} of {len(own)} proved",
    "coverage": lambda own: (
        "/".join(
            f"{min(each.get(f'{kind}_percent', 0) for each in own):.4g}" for kind in ("functional", "line", "toggle")
        )
        + " %"
    ),
    "deep": lambda own: f"{_sum(own, 'vectors'):,} vectors, {_sum(own, 'mismatches')} mismatches",
    "agreement": lambda own: ", ".join(dict.fromkeys(str(each.get("status")) for each in own)),
}
"""Summaries of records in each report, of one unit or of all, by name of the report."""


def columns(records: Records) -> list[str]:
    """Return the names of the scalar fields of flat records."""
    return [
        name
        for name in dict.fromkeys(name for record in records for name in record)
        if name != "began" and not any(isinstance(record.get(name), dict) for record in records)
    ]


def cell(value: Any) -> str:
    """Return a field of a record as text."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
