"""A user's own design: its ports as Verilator elaborates them, and the file of its port map."""

from pathlib import Path

import pytest

from bitpath.rtl.flat import FlatPort
from bitpath.sim.engine.design import Design, Partner, Piece, Port, Sources, connect, read_design, read_map

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
    "clk": 1, "w": 20, "pair": 6, "mode": 2, "either": 5, "t": 5, "reversed": 6, "number": 32, "r": 0, "unpacked": 16, "both": 1,
    "o": 10,
}  # fmt: skip


@pytest.mark.simulator
def test_widths_of_types_parameters_and_included_files(tmp_path):
    (tmp_path / "more").mkdir()
    body, source = tmp_path / "more" / "body.svh", tmp_path / "top.sv"
    body.write_text("always_ff @(posedge clk) o <= #1 w[0] + 1;\n")
    source.write_text(SOURCE)
    design = read_design(Sources((source,), (tmp_path / "more",)), "top", {"W": "5"})
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
@pytest.mark.simulator
def test_a_design_that_verilator_rejects(text, message, tmp_path):
    source = tmp_path / "top.sv"
    source.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_design(Sources((source,)), "top", {})


@pytest.mark.simulator
def test_a_missing_file(tmp_path):
    with pytest.raises(ValueError, match=r"none\.sv cannot be read: No such file or directory"):
        read_design(Sources((tmp_path / "none.sv",)), "none", {})


# Port maps of somebody's own designs: what they connect, and one sentence for each refusal.


def flat(name, direction, bits, packed, lsb=0):
    return FlatPort(name, direction, bits, False, "", packed, lsb, {})


UNIT = (
    flat("clk", "input", 1, "clk"),
    flat("rst", "input", 1, "rst"),
    flat("i_x_elements_0", "input", 8, "i__payload"),
    flat("i_x_elements_1", "input", 8, "i__payload", 8),
    flat("i_x_scale", "input", 8, "i__payload", 16),
    flat("i_valid", "input", 1, "i__valid"),
    flat("i_ready", "output", 1, "i__ready"),
    flat("o_payload", "output", 32, "o__payload"),
    flat("o_valid", "output", 1, "o__valid"),
    flat("o_ready", "input", 1, "o__ready"),
)
GIVEN = {port.name: (port.direction, port.bits) for port in UNIT}


def design(**changes):
    """The flat ports as a design, with some changed, added, or left out as None."""
    ports = {name: Port(*each, bits) for name, (*each, bits) in _named(GIVEN | changes).items()}
    return Design("my_dot", Sources(), {}, ports, ())


def _named(ports):
    return {name: (port[0], name, port[1]) for name, port in ports.items() if port is not None}


@pytest.fixture
def port_map(tmp_path):
    def of(text):
        file = tmp_path / "ports.toml"
        file.write_text(text)
        return read_map(file)

    return of


def parts(links):
    return {link.ours: (link.packed, link.lsb, link.bits, link.partner) for link in links}


def test_flat_ports_need_no_map(port_map):
    found = parts(connect("dot", UNIT, design(), read_map(None)))
    assert found["i_x_scale"] == ("i__payload", 16, 8, Partner((Piece("i_x_scale"),)))
    assert list(found) == [port.name for port in UNIT]


def test_packed_ports_need_no_map(port_map):
    packed = {"i__payload": ("input", 24), "i__valid": ("input", 1), "o__payload": ("output", 32)}
    left_out = dict.fromkeys(("i_x_elements_0", "i_x_elements_1", "i_x_scale", "i_valid", "o_payload"))
    found = parts(connect("dot", UNIT, design(**left_out, **packed), read_map(None)))
    assert found["i__payload"] == ("i__payload", 0, 24, Partner((Piece("i__payload"),)))
    assert found["o_ready"] == ("o__ready", 0, 1, Partner((Piece("o_ready"),)))


def test_a_map_names_fields_groups_levels_and_words(port_map):
    left_out = dict.fromkeys(
        ("i_x_elements_0", "i_x_elements_1", "i_x_scale", "i_ready", "o_ready", "o_payload", "rst")
    )
    changed = design(
        **left_out, w=("input", 16), s=("input", 8), q=("output", 32), rst_n=("input", 1), busy=("output", 1)
    )
    given = port_map(
        'i_x_elements = "w"\ni_x_scale = "s"\ni_ready = 1\no_ready = "open"\no__payload = "q"\nrst = "~rst_n"\n'
        '[design]\nbusy = "open"\n[parameters]\nWIDTH = 8\n'
    )
    found = parts(connect("dot", UNIT, changed, given))
    assert found["i_x_elements"] == ("i__payload", 0, 16, Partner((Piece("w"),)))
    assert found["i_ready"][-1] == Partner(constant=1)
    assert found["o_ready"][-1] == Partner()
    assert found["o__payload"][-1] == Partner((Piece("q"),))
    assert found["rst"][-1] == Partner((Piece("rst_n", inverted=True),))
    assert given.parameters == {"WIDTH": "8"}


REFUSED = {
    "missing": (
        {"i_x_scale": None, "w": ("input", 8)},
        "",
        r"has no port i_x_scale of dot, an input of 8 bits, and --map gives it no other name; ports without a partner are w",
    ),
    "missing by its mapped name": (
        {},
        'i_x_scale = "w"',
        r"my_dot has no port w, which --map names for i_x_scale of dot",
    ),
    "width": (
        {"i_x_scale": ("input", 7)},
        "",
        r"port i_x_scale of my_dot is an input of 7 bits; i_x_scale of dot is an input of 8 bits",
    ),
    "direction": (
        {"o_valid": ("input", 1)},
        "",
        r"port o_valid of my_dot is an input of 1 bit; o_valid of dot is an output of 1 bit",
    ),
    "no vector": ({"i_x_scale": ("input", 0)}, "", r"port i_x_scale of my_dot is no vector"),
    "extra": ({"busy": ("output", 1)}, "", r"port busy of my_dot \(an output of 1 bit\) is no port of dot"),
    "unknown name": ({}, 'i_y = "w"', r"dot has no port i_y in this configuration; its ports are clk, rst"),
    "unknown further port": ({}, "[design]\nclear = 0", r"my_dot has no port clear"),
    "connected twice": ({"i_valid": None}, 'i_valid = "o_ready"', r"port o_ready of my_dot is connected twice"),
    "tied and connected": ({}, "[design]\ni_valid = 0", r"port i_valid of my_dot is connected twice"),
    "open output": ({"o_valid": None}, 'o_valid = "open"', r"o_valid of dot is an output; a number gives its level"),
    "level of an input": ({"o_ready": None}, "o_ready = 1", r"o_ready of dot is an input; \"open\" leaves it out"),
    "level too large": ({"i_ready": None}, "i_ready = 2", r"i_ready of dot has 1 bit, too few for 2"),
    "delay of a payload": (
        {"o_payload": None},
        'o_payload = "delay 3"',
        r"the valid of a result, not for o_payload of dot",
    ),
    "level of an output": (
        {"busy": ("output", 1)},
        "[design]\nbusy = 0",
        r"busy of my_dot is an output of 1 bit; \[design\]",
    ),
    "open input": (
        {"clear": ("input", 1)},
        '[design]\nclear = "open"',
        r"clear of my_dot is an input of 1 bit; \[design\]",
    ),
    "not TOML": ({}, "i_valid = ", r"ports.toml is not TOML"),
    "no port": ({}, 'i_valid = "a b"', r"i_valid must be a port \"name\", .* not 'a b'"),
    "no natural number": ({}, "i_ready = true", r"i_ready must be an integer of 0 or more, not True"),
    "no table": ({}, "design = 3", r"\[design\] must be a table, not 3"),
}


@pytest.mark.parametrize(("changes", "text", "message"), REFUSED.values(), ids=REFUSED)
def test_refusals(changes, text, message, port_map):
    with pytest.raises(ValueError, match=message):
        connect("dot", UNIT, design(**changes), port_map(text))


def test_a_map_that_cannot_be_read():
    with pytest.raises(ValueError, match=r"--map: none\.toml cannot be read: No such file"):
        read_map(Path("none.toml"))
