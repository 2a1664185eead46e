"""The records of ``bitpath run``: shown, written and kept as they come."""

from collections.abc import Mapping
from typing import Any

from bitpath.sim.commands._click import Printer
from bitpath.sim.engine import paths
from bitpath.sim.engine.results import write_records
from bitpath.sim.flows import outcome
from bitpath.sim.flows.history import Keeper


class Report:
    """Keeps each record at once, since a later run may fail; at its end prints all of them if JSON is wanted.

    ``count`` is the number of records to come.
    """

    def __init__(self, printer: Printer, count: int):
        self._printer, self._keeper = printer, Keeper(count)
        self._console = outcome.console(quiet=printer.silent)
        self._records: list[dict[str, Any]] = []
        self._kept: list[dict[str, Any]] = []
        self._failures: list[str] = []
        self._headings: list[str] = []

    def __enter__(self) -> "Report":
        return self

    def __exit__(self, *_: object) -> None:
        self._printer.result(self._records)

    def add(self, record: dict[str, Any], kept: Mapping[str, Any], report: str) -> None:
        """Take a record, what only the history keeps of it, and the report of its mismatches; `show` writes them."""
        self._records.append(record)
        self._kept.append({**record, **kept, "report": report})
        self._failures += [report] if report else []

    def show(self, record: dict[str, Any]) -> None:
        """Write the records so far, and print one as a row, below headings where its columns are others than before."""
        write_records(paths.reports() / "run.json", self._records)
        self._keeper.keep(self._kept)
        headings = [name for name in outcome.COLUMNS if name in record]
        outcome.show(self._console, record, first=headings != self._headings)
        self._headings = headings
        while self._failures:
            self._printer.fail(self._failures.pop(0))

    @property
    def differs(self) -> bool:
        """True if a bit of any record differs."""
        return any(record["mismatches"] for record in self._records)
