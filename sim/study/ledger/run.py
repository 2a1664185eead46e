"""Computes rows and makes the ledger's records."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from bitpath.golden.arrays.arguments import one_of
from bitpath.sim.study.ledger.evidence import AbsentEvidenceError, Evidence
from bitpath.sim.study.ledger.row import Finding, Row, Verdict
from bitpath.sim.study.ledger.table import FUNCTIONS, address, rows

NOT_COMPUTED = "not computed"
"""Verdict of a row whose evidence is absent."""


def chosen(ids: Sequence[str]) -> list[Row]:
    """Return the rows with these ids, all rows for none.

    Raises
    ------
    ValueError : there is no such row.
    """
    declared = rows()
    for each in ids:
        if each not in declared:
            raise ValueError(f"row must be {one_of(declared)}, not {each!r}")
    return [declared[each] for each in ids] if ids else list(declared.values())


def computed(wanted: Sequence[Row], evidence: Evidence) -> Iterator[dict[str, Any]]:
    """Yield the record of each row, computed anew."""
    for row in wanted:
        began = time.monotonic()
        try:
            finding: Finding | AbsentEvidenceError = FUNCTIONS[row.id](evidence)
        except AbsentEvidenceError as absent:
            finding = absent
        yield {**_record(row, finding), "seconds": round(time.monotonic() - began, 2)}


def _record(row: Row, finding: Finding | AbsentEvidenceError) -> dict[str, Any]:
    declared = {
        "id": row.id,
        "chip": row.chip,
        "statement": row.statement,
        "sources": [{"name": each, "address": address(each)} for each in row.sources],
        "standing": row.standing,
        "evidence": row.evidence,
        "under": row.under,
        "why": row.why,
        "acknowledged": {name: each.value for name, each in row.acknowledged.items()},
    }
    if isinstance(finding, AbsentEvidenceError):
        return declared | {"verdict": NOT_COMPUTED, "verdicts": {}, "golden": str(finding), "predictions": []}
    return declared | {
        "verdict": finding.verdicts[row.under].value,
        "verdicts": {name: each.value for name, each in finding.verdicts.items()},
        "golden": finding.golden,
        "predictions": [{"experiment": each.experiment, "gives": dict(each.gives)} for each in finding.predictions],
    }


def changed(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the records whose verdicts are not the acknowledged ones; rows without their evidence have none."""
    return [each for each in records if each["verdict"] != NOT_COMPUTED and each["verdicts"] != each["acknowledged"]]


def counts(records: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Return the number of rows by verdict, in the order of `Verdict`."""
    found = Counter(each["verdict"] for each in records)
    return {name: found[name] for name in (*(each.value for each in Verdict), NOT_COMPUTED) if found[name]}
