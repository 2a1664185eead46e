"""Ports of designs in SystemVerilog as Verilator elaborates them."""

import pytest

from bitpath.sim.engine.design import read_design

pytestmark = pytest.mark.simulator

SOURCE = """
package types;
  typedef enum logic [1:0] {A, B} mode_t;
  typedef struct packed { logic [3:0] a; mode_t mode; } pair_t;
  typedef union packed { logic [4:0] x; logic [4:0] y; } either_t;
endpackage
module top import types::*; #(parameter int W = 8, parameter type T = logic [4:0]) (
  input wire clk, input logic [3:0][W-1:0] w, input pair_t pair, input mode_t mode, input either_t either, input T t,
  input signed [0:W] reversed, input int number, input real r, input logic [7:0] unpacked [2], inout wire both,
  output logic [W*2-1:0] o
);
`include "body.svh"
endmodule
"""
BITS = {
    "clk": 1, "w": 20, "pair": 6, "mode": 2, "either": 5, "t": 5, "reversed": 6, "number": 32, "r": 0, "unpacked": 0, "both": 1,
    "o": 10,
}  # fmt: skip


def test_widths_of_types_parameters_and_included_files(tmp_path):
    (tmp_path / "more").mkdir()
    body, source = tmp_path / "more" / "body.svh", tmp_path / "top.sv"
    body.write_text("always_ff @(posedge clk) o <= #1 w[0] + 1;\n")
    source.write_text(SOURCE)
    design = read_design([source], "top", [tmp_path / "more"], {"W": 5})
    assert {name: port.bits for name, port in design.ports.items()} == BITS
    assert {name for name, port in design.ports.items() if port.direction != "input"} == {"both", "o"}
    assert set(design.read) == {body, source}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("module top(input a);\n  assign b c;\nendmodule", r"Verilator rejects top: .*top\.sv:2:\d+: syntax error"),
        (
            "module top(input a);\n  missing m(a);\nendmodule",
            r"top\.sv:2:\d+: Cannot find file containing module: 'missing'",
        ),
        (
            "interface pins; logic x; endinterface\nmodule top(pins p);\nendmodule",
            r"Unsupported: Interfaced port on top level",
        ),
        ("module other;\nendmodule", r"'top' was not found in design"),
    ],
)
def test_a_design_that_verilator_rejects(text, message, tmp_path):
    source = tmp_path / "top.sv"
    source.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_design([source], "top", [], {})


def test_a_missing_file(tmp_path):
    with pytest.raises(ValueError, match=r"none\.sv cannot be read: No such file or directory"):
        read_design([tmp_path / "none.sv"], "none", [], {})
