"""Every row of the ledger has its acknowledged verdict, from the published answers of silicon."""

import pytest
from parts import records, take

from bitpath.sim.study.ledger import run
from bitpath.sim.study.ledger.row import Evidence
from bitpath.sim.study.ledger.run import NOT_COMPUTED, changed, chosen, computed

LONG = ("T2", "T3", "T4", "T25", "T27")
"""Rows that take seconds: all pairs of BF16 numbers, and long products."""
MARKED = [pytest.param(row, marks=[pytest.mark.deep] if row in LONG else []) for row in run.FUNCTIONS]


@pytest.mark.parametrize("row", MARKED)
def test_the_verdict_is_the_acknowledged_one(kat, row):
    (record,) = computed(chosen([row]), Evidence.here())
    if record["verdict"] == NOT_COMPUTED:
        pytest.skip(record["golden"])
    assert changed([record]) == []
    # The page's predictions are those of golden now, bit for bit.
    recorded = records.record("ledger")["tables"]["predictions"]["rows"]
    assert take.predictions(record) == [each for each in recorded if each[0] == row]
