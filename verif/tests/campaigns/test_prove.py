"""Only constant nets are proved constant."""

import json
import math
import re
from types import SimpleNamespace

import pytest

from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns import constants
from bitpath.sim.campaigns.circuits import constant_outputs
from bitpath.sim.campaigns.constants import DESIGN, Net, constant_nets, hollow, read_netlist, with_output
from bitpath.sim.campaigns.coverage import measure, parse
from bitpath.sim.engine import paths
from bitpath.sim.engine.process import YosysTimeoutError
from bitpath.verif.kit.testplan import covers

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
