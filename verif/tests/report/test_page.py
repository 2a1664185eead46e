"""The page of ``bitpath self report``: whole HTML without a request to any host, its rows, charts and maps."""

import json
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote

import numpy as np
import pytest

from bitpath.golden.formats.catalogue import FP32
from bitpath.sim.commands import measures
from bitpath.sim.engine import paths, tools
from bitpath.sim.flows.outcome import CELLS, ERROR_CELLS, result_map
from bitpath.sim.study import page
from bitpath.sim.study.numerics import TEXTS
from bitpath.sim.study.page import run_files
from bitpath.verif.kit.testplan import covers, load_plans
from bitpath.verif.kit.values import ulp_distance

VOID = {"meta", "br", "hr", "img", "link", "input"}
PLANS = load_plans()
PAGE = Path("build/reports/report.html")


class Page(HTMLParser):
    """Elements of a page: links, identifiers, and text; closes every element in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.words, self.tags, self.styles = [], [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        found = dict(attrs)
        assert len(found) == len(attrs), f"{tag} has an attribute twice"
        self.ids += [found["id"]] if "id" in found else []
        self.links += [
            found[name] for name in ("href", "src", "xlink:href", "action", "data", "srcset") if name in found
        ]
        self.styles.append(found.get("style") or "")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        (self.styles if self.open[-1:] == ["style"] else self.words).append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture
def shown_page(bitpath, monkeypatch):
    """Run the command with the first plan and return the page, after the checks that hold for every page."""
    monkeypatch.setattr(measures, "load_plans", lambda: [item for item in PLANS if item.unit == PLANS[0].unit])

    def read():
        status, _, err = bitpath("report")
        assert (status, err) == (0, "")
        text = PAGE.read_text()
        assert text.startswith("<!doctype html>")
        found = Page(text)
        assert len(found.ids) == len(set(found.ids)), "an identifier stands twice"
        for link in found.links:
            if link.startswith("#"):
                assert link[1:] in found.ids, f"{link} leads nowhere"
            elif not link.startswith("data:image/png;base64,"):
                assert "//" not in link
                assert (PAGE.parent / unquote(link)).is_file(), f"{link} leads nowhere"
        assert not {"script", "link", "iframe", "object", "embed", "base"} & set(found.tags)
        assert not [style for style in found.styles if "@import" in style or "url(" in style.replace("url(#", "")]
        return found

    return read


@pytest.fixture
def drawn():
    pytest.importorskip("matplotlib", reason="`make test` installs the extra plot; the charts need it")


def test_a_page_without_runs(shown_page):
    found = shown_page()
    assert "No run is recorded." in found.text
    assert "No campaign has run" in found.text
    assert "svg" not in found.tags
    for machine, each in TEXTS.items():
        assert f"{machine} : " in found.text
        for name in each.presets:
            assert name in found.text


def test_a_run_that_agrees(shown_page, drawn, keep, record):
    folder = paths.runs() / "tensix_engine-0/a b#1"
    folder.mkdir(parents=True)
    for name in ("run.log", "dump.fst"):
        (folder / name).touch()
    own = folder.relative_to(paths.build_root()).as_posix()
    keep(3, [record(folder=own), record("bfp8_lofi", folder="runs/gone", sqnr_db=None)])
    found = shown_page()
    assert "Golden and RTL agree in all bits of 6,400 values: 2 formats on tensix." in found.text
    assert "Run of 2100-11-03 10:20 UTC, commit 0123456789ab , 2 s: bitpath run --day 3" in found.text
    assert "The sources have changed since this run." not in found.text
    assert "80 x 16 x 40" in found.text
    assert found.tags.count("svg") == 4, "bars of SQNR and of the rate, and a map of the error of each format"
    assert [link for link in found.links if "runs/" in link] == [
        "../runs/tensix_engine-0/a%20b%231/run.log",
        "../runs/tensix_engine-0/a%20b%231/dump.fst",
    ]


def test_a_run_that_differs_shows_where(shown_page, drawn, keep, record):
    keep(3, [record(), record("bf16_hifi2", [(0, 0), (1, 0), (79, 39)])])
    found = shown_page()
    assert "Golden and RTL differ in 3 of 6,400 values, in 1 of 2 formats: tensix bf16_hifi2." in found.text
    assert "3 of 3,200 values differ." in found.text
    assert "rows columns mismatches largest distance 0 to 1 0 2 3 ulp 78 to 79 39 1 3 ulp" in found.text
    assert "first mismatch: tensix <bf16_lofi>" in found.text
    assert found.tags.count("svg") == 5


@covers("mutation.comparisons")
def test_a_run_with_256_and_with_all_values_wrong(shown_page, drawn, keep, record):
    places = [(m, n) for m in range(80) for n in range(40)]
    keep(3, [record(wrong=places[:256]), record("bf16_hifi2", places)])
    text = shown_page().text
    assert (
        "Golden and RTL differ in 3,456 of 6,400 values, in 2 of 2 formats: tensix bf16_lofi, tensix bf16_hifi2."
        in text
    )
    assert "256 of 3,200 values differ." in text
    assert "3,200 of 3,200 values differ." in text


def test_other_flows_have_no_peak(shown_page, drawn, keep, record):
    row = record("row", flow="rmsnorm_quant", elements_per_cycle=7.5, map={})
    keep(3, [{name: value for name, value in row.items() if not name.endswith("mac_per_cycle")}])
    found = shown_page()
    assert "7.5" in found.text
    assert found.tags.count("svg") == 1


def test_the_history_has_the_last_run_first(shown_page, drawn, keep, record):
    keep(2, [record()], formats=3, commit=None)
    keep(1, [record(wrong=[(0, 0)])])
    found = shown_page()
    assert found.text.index("2100-11-02") < found.text.index("2100-11-01")
    assert "The run stopped after 1 of 3 formats." in found.text
    assert "commit not known" in found.text
    assert "Golden and RTL agree in all bits" in found.text
    assert "first mismatch" not in found.text, "only the last run is shown in full"


def test_an_old_run_is_older_than_the_sources(shown_page, drawn, keep, record):
    keep(2, [record()], began="2020-01-01T00:00:00+00:00")
    assert "The sources have changed since this run." in shown_page().text


def test_texts_are_escaped(shown_page, drawn, keep, record):
    keep(2, [record("<b>&")], command="bitpath run --a '</main><script>'")
    assert "</main><script>" in shown_page().text


def test_what_is_not_whole_is_named(shown_page, keep, record):
    keep(2, [record()]).write_text("{")
    (paths.reports() / "formal.json").write_text("[")
    found = shown_page()
    assert "2 files could not be read." in found.text
    for name in ("build/reports/formal.json", "build/reports/runs/21001102T102030.000001Z.json"):
        assert name in found.text
    assert "No run is recorded." in found.text


def test_campaigns_and_cost(shown_page):
    paths.reports().mkdir(parents=True)
    found = {
        "formal": [{"unit": "a.psum", "status": "proved", "sabotage_caught": True, "seconds": 1.23456}],
        "synth": [{"unit": "psum", "area_ge": 12345, "began": 1.0}],
        "unknown": [{"name": "x", "config": {"a": 1}}],
    }
    for name, records in found.items():
        (paths.reports() / f"{name}.json").write_text(json.dumps(records))
    (paths.reports() / "explore.html").touch()
    shown = shown_page()
    text = shown.text
    assert "explore.html" in shown.links
    assert "Formal : 1 of 1 proved, 1 row" in text
    assert "1.235" in text
    assert "Synthesis , 1 row older than the sources" in text
    assert "12,345" in text
    assert "unknown , 1 row" in text
    assert "Testplan items: not run since the sources last changed." in text


def test_without_matplotlib_a_sentence_says_what_to_install(bitpath, keep, record, monkeypatch):
    keep(2, [record()])
    monkeypatch.setitem(tools.EXTRAS, "plot", {"no_such_module": "matplotlib"})
    status, out, err = bitpath("report")
    assert status == 3
    assert err.startswith("bitpath: matplotlib is not in this Python environment; run: pip install 'bitpath[plot]'")
    assert err.count("\n") == 1
    assert "testplan items: not run; records: build/reports/report.json" in out
    assert not PAGE.exists()


# The page of a kept run: sentences, rows, the numbers that charts and maps draw, and the worst cells.


def run(*records):
    mismatches, compared = (sum(each.get(name, 0) for each in records) for name in ("mismatches", "compared"))
    return SimpleNamespace(
        records=records, mismatches=mismatches, compared=compared, began="2026-11-29T10:20:30.999+00:00"
    )


def made(format_name="bf16", **fields):
    return {"machine": "tensix", "format": format_name, "config": {"shape": [2, 8, 3]}, "mismatches": 0} | fields


@pytest.fixture
def charts(monkeypatch):
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


def test_charts_draw_sqnr_and_shares_of_the_peak(charts):
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


def test_maps_are_those_of_the_record(charts):
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


# Maps of a result hold the counts, distances and errors of its blocks.


SHAPES = ((1, 1), (64, 64), (65, 3), (128, 512), (300, 1000))


def matrix(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def blocks(array, block):
    """Return the blocks of a matrix by their place, one after the other."""
    height, width = block
    return [
        [array[m : m + height, n : n + width] for n in range(0, array.shape[1], width)]
        for m in range(0, array.shape[0], height)
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_mismatches_and_distances_of_each_block(shape):
    golden, rng = matrix(shape), np.random.default_rng(2)
    rtl = golden.copy()
    wrong = rng.random(shape) < 0.01
    wrong[-1, -1] = True
    rtl.view(np.uint32)[wrong] ^= rng.integers(1, 1 << 31, wrong.sum(), np.uint32)
    found = result_map(rtl, golden, rtl, golden.astype(np.float64))
    assert set(found) == {"block", "mismatches", "ulp"}
    assert all(side & (side - 1) == 0 for side in found["block"])
    assert max(len(found["ulp"]), len(found["ulp"][0])) <= CELLS
    assert found["mismatches"] == [[int(each.sum()) for each in row] for row in blocks(wrong, found["block"])]
    pairs = np.stack([rtl.view(np.uint32), golden.view(np.uint32)], axis=-1)
    for row, cells in zip(blocks(pairs, found["block"]), found["ulp"], strict=True):
        for block, largest in zip(row, cells, strict=True):
            distances = [ulp_distance(FP32, int(a), int(b)) for a, b in block.reshape(-1, 2) if a != b]
            assert largest == max((each for each in distances if each is not None), default=None)


@pytest.mark.parametrize(("wrong", "most"), [(True, 64), (False, 32)])
def test_a_side_of_one_more_has_cells_of_two(wrong, most):
    golden = matrix((most, most + 1))
    rtl = golden + np.float32(wrong)
    assert result_map(rtl, golden, rtl, golden.astype(np.float64))["block"] == [1, 2]


def test_distances_of_zeros_nan_and_both_signs():
    golden = np.array([[0.0, 1.0, np.nan, 1e-45, 1.0]], np.float32)
    rtl = np.array([[-0.0, np.nan, 1.0, -1e-45, 1.0]], np.float32)
    found = result_map(rtl, golden, rtl, golden.astype(np.float64))
    assert found == {"block": [1, 1], "mismatches": [[1, 1, 1, 1, 0]], "ulp": [[0, None, None, 2, None]]}


def test_bytes_have_no_distance():
    golden = np.zeros((2, 3), np.uint8)
    rtl = golden + np.array([[0, 1, 0]], np.uint8)
    assert result_map(rtl, golden, rtl, rtl) == {"block": [1, 1], "mismatches": [[0, 1, 0], [0, 1, 0]]}


@pytest.mark.parametrize("shape", SHAPES)
def test_errors_where_all_bits_agree(shape):
    result, reference = matrix(shape), matrix(shape, 1).astype(np.float64)
    found = result_map(result, result.copy(), result, reference)
    assert set(found) == {"block", "error"}
    assert max(len(found["error"]), len(found["error"][0])) <= ERROR_CELLS
    relative = np.abs(result - reference) / np.sqrt(np.mean(reference**2))
    expected = [[each.max() for each in row] for row in blocks(relative, found["block"])]
    np.testing.assert_allclose(found["error"], expected, rtol=0.05)


def test_numbers_that_are_not_finite_have_no_error():
    result = np.array([[np.inf, 1.0]], np.float32)
    assert result_map(result, result, result, np.array([[2.0, 2.0]]))["error"] == [[None, 0.5]]
    for reference in (np.array([[np.inf, 1.0]]), np.zeros((1, 2))):
        assert result_map(result, result, result, reference) == {}
