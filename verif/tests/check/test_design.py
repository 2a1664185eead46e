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


PARAMETERS = """
package kinds;
  typedef enum logic [2:0] {A = 3, B = 5} kind_t;
endpackage
module top import kinds::*; #(
  parameter type T = logic, parameter kind_t K = A, parameter string S = "", parameter real R = 0.0, parameter int N = 1
) (input T t, input logic [`BITS-1:0] array [2:0], output logic [(K == B && S == "x" && R > 0.25 ? N : 1)-1:0] o);
endmodule
"""


@pytest.mark.simulator
def test_parameters_of_any_type_macros_and_unpacked_arrays(tmp_path):
    source = tmp_path / "top.sv"
    source.write_text(PARAMETERS)
    given = {"T": "logic [6:0]", "K": "kinds::B", "S": '"x"', "R": "0.5", "N": "9"}
    design = read_design(Sources((source,), defines={"BITS": "4"}), "top", given)
    assert design.ports == {
        "t": Port("input", "t", 7),
        "array": Port("input", "array", 12, (2, 0)),
        "o": Port("output", "o", 9),
    }
    assert design.read == (source,)


def test_a_file_list(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCES", "rtl")
    Path("inner.f").write_text("b.sv // the second\n-I more\n")
    Path("list.f").write_text("# a design\n+incdir+one+two\n+define+W=8+FAST\n$SOURCES/a.sv\n-f inner.f\n-DDEEP=1\n")
    found = Sources((Path("first.sv"),)).with_list(Path("list.f"))
    assert found.files == (Path("first.sv"), Path("rtl/a.sv"), Path("b.sv"))
    assert found.includes == (Path("one"), Path("two"), Path("more"))
    assert found.defines == {"W": "8", "FAST": "", "DEEP": "1"}
    Path("list.f").write_text("-y lib\n")
    with pytest.raises(ValueError, match=r"list\.f: -y is no file, \+incdir\+, \+define\+, -I, -D or -f"):
        Sources().with_list(Path("list.f"))


def test_vhdl_gets_a_way_out(tmp_path):
    source = tmp_path / "top.vhd"
    source.write_text("entity top is end;")
    with pytest.raises(ValueError, match=r"top\.vhd is VHDL, .*ghdl synth --out=verilog"):
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


def test_slices_concatenations_codes_and_operands_that_are_not_there(port_map):
    ports = {"x": ("input", 64), "s": ("input", 5), "hi": ("output", 16), "rst_b": ("input", 1), "fmt": ("input", 3)}
    left_out = dict.fromkeys(("i_x_elements_0", "i_x_elements_1", "i_x_scale", "o_payload", "rst"))
    given = port_map(
        'i_x_elements = "x[15:0]"\ni_x_scale = {port = "{s[4], fmt}", values = {0 = 3, 1 = 13}}\n'
        'o_payload = "{hi, 16\'hff}"\nrst = "~rst_b"\n[design]\n"x[63:16]" = 5\n"s[3:0]" = 0\n'
    )
    found = parts(connect("dot", UNIT, design(**left_out, **ports), given))
    assert found["i_x_elements"][-1] == Partner((Piece("x", 15, 0),))
    assert found["i_x_scale"][-1] == Partner((Piece("s", 4, 4), Piece("fmt")), ((0, 3), (1, 13)))
    assert found["o_payload"][-1] == Partner((Piece("hi"), Piece(bits=16, constant=255)))
    assert given.design == {Piece("x", 63, 16): 5, Piece("s", 3, 0): 0}
    held = port_map('i_x_scale = 7\ni_x_elements_1 = {same_as = "i_x_elements_0"}\n')
    found = parts(connect("dot", UNIT, design(i_x_scale=None, i_x_elements_1=None), held))
    assert (found["i_x_scale"][-1], found["i_x_elements_1"][-1].same_as) == (Partner(constant=7), "i_x_elements_0")


REFUSED = {
    "operand left out": (
        {"i_x_scale": None},
        'i_x_scale = "open"',
        r"without i_x_scale of dot, with which golden computes",
    ),
    "bits without partner": (
        {"i_x_scale": ("input", 12)},
        'i_x_scale = "i_x_scale[7:0]"',
        r"bits 11 to 8 of port i_x_scale of my_dot have no partner",
    ),
    "bits beyond": ({}, 'i_x_scale = "i_x_scale[8:1]"', r"i_x_scale of my_dot is an input of 8 bits; it has no bit 8"),
    "bits twice": (
        {"x": ("input", 16), "i_x_elements_0": None, "i_x_elements_1": None},
        'i_x_elements_0 = "x[7:0]"\ni_x_elements_1 = "x[8:1]"',
        r"port x of my_dot is connected twice",
    ),
    "pieces of another width": (
        {"i_x_scale": None, "a": ("input", 4), "b": ("input", 5)},
        'i_x_scale = "{a, b}"',
        r"the pieces of i_x_scale of dot have 9 bits; it is an input of 8 bits",
    ),
    "codes that do not fit": (
        {"i_x_scale": None, "a": ("input", 2)},
        'i_x_scale = {port = "a", values = {0 = 4}}',
        r"values are codes of an input; i_x_scale of dot has 8 bits, its port 2 bits",
    ),
    "codes without port": ({}, "i_x_scale = {values = {0 = 4}}", r"i_x_scale must be a table such as"),
    "a handshake that comes later": (
        {"v": ("input", 1), "i_valid": None},
        'i_valid = {port = "v", after = 1}',
        r"only an operand can come cycles after its request; i_valid of dot is none",
    ),
    "same as nothing": (
        {},
        'i_x_scale = {same_as = "o_ready"}',
        r"i_x_scale of dot can be the same as an operand of 8 bits",
    ),
    "a constant that does not fit": ({}, 'i_x_scale = "{a, 2\'b101}"', r"i_x_scale must be a port"),
    "a further port's driver": (
        {"en": ("input", 2)},
        '[design]\nen = "i_valid"',
        r"en of my_dot can be driven by an input of dot of 1 bit, not by i_valid",
    ),
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
