"""The ledger's rows are whole, and each has its acknowledged verdict from the published answers of silicon."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from parts import records, take

from bitpath.sim.__main__ import cli
from bitpath.sim.study.ledger import run
from bitpath.sim.study.ledger.row import AbsentEvidenceError, Evidence, Verdict
from bitpath.sim.study.ledger.run import NOT_COMPUTED, changed, chosen, computed

ROWS = run.rows()
STANDINGS = {"measured", "documented", "inferred"}
EVIDENCE = {"printed", "stated equal", "stated"}


@pytest.fixture
def ledger(monkeypatch, tmp_path):
    """Run `bitpath ledger` in a build folder of its own; the function takes the arguments."""
    monkeypatch.setenv("BITPATH_BUILD", str(tmp_path))
    return lambda *arguments: CliRunner().invoke(cli, ["ledger", *arguments])


def test_every_row_has_its_function_and_every_function_its_row():
    assert list(ROWS) == list(run.FUNCTIONS)
    assert len(ROWS) >= 80
    assert len(set(run.FUNCTIONS.values())) == len(ROWS)


def test_rows_are_whole(subtests):
    for name, row in ROWS.items():
        with subtests.test(name):
            assert re.fullmatch("[ATR][1-9][0-9]?b?", row.id)
            assert row.standing in STANDINGS
            assert row.evidence in EVIDENCE
            for text in (row.chip, row.statement, row.why):
                assert text
                assert not text.endswith(".")
            assert row.sources
            assert all(run.address(each).startswith("https://") for each in row.sources)


def test_addresses():
    assert run.address("a/b#7") == "https://github.com/a/b/issues/7"
    assert run.address("a/b@0f1:docs/c.md") == "https://github.com/a/b/blob/0f1/docs/c.md"
    assert run.address("a/b") == "https://github.com/a/b"
    assert run.address("https://c.dev/d") == "https://c.dev/d"


def test_a_verdict_that_changes_ends_with_a_failure(ledger, monkeypatch):
    """Until the row's file has the new verdict."""
    assert ledger("A28").exit_code == 0
    changed = {**ROWS, "A28": replace(ROWS["A28"], verdict=Verdict.REFUTED)}
    monkeypatch.setattr("bitpath.sim.study.ledger.run.rows", lambda: changed)
    failed = ledger("A28")
    assert failed.exit_code == 1
    assert "row A28: golden gives reproduced under aie_ml_v2, acknowledged is refuted under aie_ml_v2" in failed.output


def test_absent_evidence_is_said_and_changes_no_verdict(ledger, monkeypatch, tmp_path):
    monkeypatch.delenv("BITPATH_KAT_DIR", raising=False)
    shown = ledger("A32")
    assert shown.exit_code == 0
    assert "not computed under aie_ml_v2" in shown.output
    assert "aie_silicon.npz is absent: BITPATH_KAT_DIR is not set" in " ".join(shown.output.split())
    monkeypatch.setenv("BITPATH_KAT_DIR", str(tmp_path))
    assert "aie_silicon.npz is absent from the folder" in " ".join(ledger("A32").output.split())
    with pytest.raises(AbsentEvidenceError):
        Evidence(folder=tmp_path).rows("silicon_statistics.json")


def test_an_absent_row_is_absent_evidence(ledger, monkeypatch, tmp_path):
    """A file without the rows of a statement neither reproduces nor refutes it."""
    (tmp_path / "silicon_xdna2_chain.json").write_text('{"probes": []}')
    (tmp_path / "silicon_tensix_values.json").write_text('{"rows": []}')
    block = np.zeros((1, 8), np.uint32)
    columns = {"x_bits": block, "mode": [0], "exponent": [0], "codes": block, "probe": ["another"]}
    np.savez(tmp_path / "silicon_xdna2_convert.npz", **columns)
    monkeypatch.setenv("BITPATH_KAT_DIR", str(tmp_path))
    for row, sentence in (
        ("A4", "silicon_xdna2_convert.npz has no probe ties"),
        ("T14", "silicon_tensix_values.json has no row tt-metal#17018"),
        ("A16", "silicon_xdna2_chain.json has no probe"),
    ):
        shown = ledger(row)
        assert shown.exit_code == 0
        assert sentence in " ".join(shown.output.split())


def test_a_folder_that_does_not_exist_is_refused(ledger, monkeypatch, tmp_path):
    monkeypatch.setenv("BITPATH_KAT_DIR", str(tmp_path / "nowhere"))
    assert "BITPATH_KAT_DIR must be the path of an existing folder" in str(ledger("A28").exception)


def test_an_unknown_row_is_refused():
    with pytest.raises(ValueError, match="row must be A1, A2"):
        chosen(["A99"])


def test_the_report_keeps_the_rows_of_earlier_runs(ledger, tmp_path):
    ledger("A28", "--quiet")
    printed = json.loads(ledger("A29", "--json").output)
    assert [each["id"] for each in printed] == ["A29"]
    report = {each["id"]: each for each in json.loads((tmp_path / "reports/ledger.json").read_text())}
    assert set(report) == {"A28", "A29"}
    assert report["A28"]["verdict"] == "reproduced"
    assert report["A29"]["sources"][0]["address"] == "https://github.com/Xilinx/mlir-aie/issues/2987"


def test_undecided_rows_predict():
    """Falsifiable: bits in hexadecimal, by model."""
    (record,) = computed(chosen(["T12"]), Evidence(folder=None))
    (prediction,) = record["predictions"]
    assert prediction["gives"]["tensix_wormhole"] == "0xc1800000"
    assert prediction["gives"]["tensix_blackhole"] == "0xb4000000"


# Every row of the ledger has its acknowledged verdict, from the published answers of silicon.


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
