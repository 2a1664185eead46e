"""What the page says of a kept run: sentences, rows, the numbers that charts and maps draw, and the worst cells."""

from types import SimpleNamespace

import pytest

from bitpath.sim.engine import paths
from bitpath.sim.study import page
from bitpath.sim.study.page import run_files


def run(*records):
    mismatches, compared = (sum(each.get(name, 0) for each in records) for name in ("mismatches", "compared"))
    return SimpleNamespace(
        records=records, mismatches=mismatches, compared=compared, began="2026-11-29T10:20:30.999+00:00"
    )


def made(format_name="bf16", **fields):
    return {"machine": "tensix", "format": format_name, "config": {"shape": [2, 8, 3]}, "mismatches": 0} | fields


@pytest.fixture
def drawn(monkeypatch):
    """Return the arguments of each chart and map in place of its drawing."""
    monkeypatch.setattr(page, "bars", lambda *given: given)
    monkeypatch.setattr(page, "heat_map", lambda *given, log: (*given, log))


def test_a_number_has_its_noun():
    assert [page.plural(number, "value") for number in (0, 1, 2, 1234)] == [
        "0 values", "1 value", "2 values", "1,234 values",
    ]  # fmt: skip
    assert [page.plural(number, "mismatch") for number in (1, 2)] == ["1 mismatch", "2 mismatches"]


def test_the_verdict():
    agree = run(made(compared=1000), made("mx9", machine="aie_ml_v2", compared=1), made("mx6", machine="aie_ml_v2"))
    assert page.verdict(agree) == ("Golden and RTL agree in all bits of 1,001 values: 3 formats on tensix, aie_ml_v2.")
    differ = run(made(compared=3000), made("fp16", compared=10, mismatches=2000))
    assert page.verdict(differ) == "Golden and RTL differ in 2,000 of 3,010 values, in 1 of 2 formats: tensix fp16."
    assert page.when(agree) == "2026-11-29 10:20 UTC"


def test_rows_have_labels_shapes_rates_and_links():
    folder = paths.build_root() / "runs" / "dot16"
    first, second, third = page.format_rows(
        run(
            made(mac_per_cycle=30.0, peak_mac_per_cycle=120, folder="runs/dot16"),
            made(mac_per_cycle=30.0, peak_mac_per_cycle=0, config={}),
            made(peak_mac_per_cycle=120, folder=None),
        )
    )
    assert (first["label"], first["shape"], first["share"], first["links"]) == (
        "tensix bf16", "2 x 8 x 3", 0.25, run_files(folder),
    )  # fmt: skip
    assert (second["shape"], second["share"], second["links"]) == ("", None, {})
    assert (third["share"], third["links"]) == (None, {})
    assert first["mismatches"] == 0


def test_charts_draw_sqnr_and_shares_of_the_peak(drawn):
    rows = [
        {"label": "a", "sqnr_db": 40.26, "share": 0.25, "mac_per_cycle": 2048.4, "peak_mac_per_cycle": 8192},
        {"label": "b", "sqnr_db": None, "share": None},
        {"label": "c", "share": 1.0, "mac_per_cycle": 8.0, "peak_mac_per_cycle": 8},
    ]
    assert page.sqnr_chart(rows) == (["a", "b", "c"], [40.26, None, None], ["40.3 dB", "-", "-"], 40.26, "SQNR in dB")
    assert page.sqnr_chart(rows[1:])[3] == 10.0
    assert page.rate_chart(rows) == (
        ["a", "c"], [25.0, 100.0], ["2,048 of 8,192", "8 of 8"], 100, "percent of the peak",
    )  # fmt: skip
    assert page.rate_chart(rows[1:2]) == ""


def test_maps_are_those_of_the_record(drawn):
    found = {"mismatches": "counts", "ulp": "distances", "error": "errors"}
    assert page.maps({"map": {"block": [2, 3]} | found}) == [
        ("mismatches; a cell is 2 x 3 outputs", ("counts", [2, 3], "mismatches", False)),
        ("largest distance; a cell is 2 x 3 outputs", ("distances", [2, 3], "ulp", True)),
        ("largest error; a cell is 2 x 3 outputs", ("errors", [2, 3], "error / RMS", True)),
    ]
    ((caption, _),) = page.maps({"map": {"block": [1, 1], "error": "errors"}})
    assert caption == "largest error; a cell is one output"
    assert page.maps({"map": {"error": "errors"}}) == []


def test_the_worst_cells_are_those_with_most_mismatches_and_then_the_most_distant():
    counts = [[1, 0, 3], [3, 2, 1], [1, 1, 0]]
    ulp = [[9, 0, 5], [7, 1000, None], [4, 2, 0]]
    row = {"map": {"mismatches": counts, "ulp": ulp, "block": [2, 1]}}
    assert page.worst_cells(row) == [
        ("2 to 3", "0", 3, "7 ulp"),
        ("0 to 1", "2", 3, "5 ulp"),
        ("2 to 3", "1", 2, "1,000 ulp"),
        ("0 to 1", "0", 1, "9 ulp"),
        ("4 to 5", "0", 1, "4 ulp"),
    ]
    assert len(page.worst_cells(row)) == page.WORST < 7
    distances = {"mismatches": [[1, 1]], "ulp": [[None, 1]], "block": [1, 1]}
    assert page.worst_cells({"map": distances}) == [("0", "1", 1, "1 ulp"), ("0", "0", 1, "-")]
    assert page.worst_cells({"map": {"mismatches": [[0, 1]], "block": [1, 4]}}) == [("0", "4 to 7", 1, "-")]
    assert page.worst_cells({"map": {"error": [[1]], "block": [1, 1]}}) == []
