"""The page of ``bitpath report``: whole HTML, without a request to any host, from runs that agree, that differ, or none."""

import json
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from bitpath.sim.commands import measures
from bitpath.sim.engine import paths, tools
from bitpath.sim.flows.texts import TEXTS
from bitpath.verif.kit.testplan import covers, load_plans

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
def page(bitpath, monkeypatch):
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


def test_a_page_without_runs(page):
    found = page()
    assert "No run is recorded." in found.text
    assert "No campaign has run" in found.text
    assert "svg" not in found.tags
    for machine, each in TEXTS.items():
        assert f"{machine} : " in found.text
        for name in each.presets:
            assert name in found.text


def test_a_run_that_agrees(page, drawn, keep, record):
    folder = paths.runs() / "tensix_engine-0/a b#1"
    folder.mkdir(parents=True)
    for name in ("run.log", "dump.fst"):
        (folder / name).touch()
    own = folder.relative_to(paths.build_root()).as_posix()
    keep(3, [record(folder=own), record("bfp8_lofi", folder="runs/gone", sqnr_db=None)])
    found = page()
    assert "Golden and RTL agree in all bits of 6,400 values: 2 formats on tensix." in found.text
    assert "Run of 2100-11-03 10:20 UTC, commit 0123456789ab , 2 s: bitpath run --day 3" in found.text
    assert "The sources have changed since this run." not in found.text
    assert "80 x 16 x 40" in found.text
    assert found.tags.count("svg") == 4, "bars of SQNR and of the rate, and a map of the error of each format"
    assert [link for link in found.links if "runs/" in link] == [
        "../runs/tensix_engine-0/a%20b%231/run.log",
        "../runs/tensix_engine-0/a%20b%231/dump.fst",
    ]


def test_a_run_that_differs_shows_where(page, drawn, keep, record):
    keep(3, [record(), record("bf16_hifi2", [(0, 0), (1, 0), (79, 39)])])
    found = page()
    assert "Golden and RTL differ in 3 of 6,400 values, in 1 of 2 formats: tensix bf16_hifi2." in found.text
    assert "3 of 3,200 values differ." in found.text
    assert "rows columns mismatches largest distance 0 to 1 0 2 3 ulp 78 to 79 39 1 3 ulp" in found.text
    assert "first mismatch: tensix <bf16_lofi>" in found.text
    assert found.tags.count("svg") == 5


@covers("mutation.comparisons")
def test_a_run_with_256_and_with_all_values_wrong(page, drawn, keep, record):
    places = [(m, n) for m in range(80) for n in range(40)]
    keep(3, [record(wrong=places[:256]), record("bf16_hifi2", places)])
    text = page().text
    assert (
        "Golden and RTL differ in 3,456 of 6,400 values, in 2 of 2 formats: tensix bf16_lofi, tensix bf16_hifi2."
        in text
    )
    assert "256 of 3,200 values differ." in text
    assert "3,200 of 3,200 values differ." in text


def test_other_flows_have_no_peak(page, drawn, keep, record):
    row = record("row", flow="rmsnorm_quant", elements_per_cycle=7.5, map={})
    keep(3, [{name: value for name, value in row.items() if not name.endswith("mac_per_cycle")}])
    found = page()
    assert "7.5" in found.text
    assert found.tags.count("svg") == 1


def test_the_history_has_the_last_run_first(page, drawn, keep, record):
    keep(2, [record()], formats=3, commit=None)
    keep(1, [record(wrong=[(0, 0)])])
    found = page()
    assert found.text.index("2100-11-02") < found.text.index("2100-11-01")
    assert "The run stopped after 1 of 3 formats." in found.text
    assert "commit not known" in found.text
    assert "Golden and RTL agree in all bits" in found.text
    assert "first mismatch" not in found.text, "only the last run is shown in full"


def test_an_old_run_is_older_than_the_sources(page, drawn, keep, record):
    keep(2, [record()], began="2020-01-01T00:00:00+00:00")
    assert "The sources have changed since this run." in page().text


def test_texts_are_escaped(page, drawn, keep, record):
    keep(2, [record("<b>&")], command="bitpath run --a '</main><script>'")
    assert "</main><script>" in page().text


def test_what_is_not_whole_is_named(page, keep, record):
    keep(2, [record()]).write_text("{")
    (paths.reports() / "formal.json").write_text("[")
    found = page()
    assert "2 files could not be read." in found.text
    for name in ("build/reports/formal.json", "build/reports/runs/21001102T102030.000001Z.json"):
        assert name in found.text
    assert "No run is recorded." in found.text


def test_campaigns_and_cost(page):
    paths.reports().mkdir(parents=True)
    found = {
        "formal": [{"unit": "a.psum", "status": "proved", "sabotage_caught": True, "seconds": 1.23456}],
        "synth": [{"unit": "psum", "area_ge": 12345, "began": 1.0}],
        "unknown": [{"name": "x", "config": {"a": 1}}],
    }
    for name, records in found.items():
        (paths.reports() / f"{name}.json").write_text(json.dumps(records))
    (paths.reports() / "explore.html").touch()
    shown = page()
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
