"""Netlist simulation: cells, flip-flops, memories, nested modules; a cell without a model is reported."""

import json

import pytest

from bitpath.sim.campaigns import gates
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.study import synth
from bitpath.verif.kit.testplan import covers


def cell(kind, parameters=None, **connections):
    return {"type": kind, "parameters": parameters or {}, "connections": connections}


def module(inputs, outputs, *cells):
    ports = {name: {"direction": "input", "bits": bits} for name, bits in inputs.items()}
    ports |= {name: {"direction": "output", "bits": bits} for name, bits in outputs.items()}
    return {"ports": ports, "cells": {str(index): each for index, each in enumerate(cells)}}


@pytest.fixture
def play(tmp_path):
    """The outputs of a design of these modules in each step, by name."""

    def played(steps, **modules):
        file = tmp_path / "netlist.json"
        file.write_text(json.dumps({"modules": modules}))
        netlist = gates.read(file, "top")
        inputs = [name for name in netlist.inputs if name != "clk"]
        found = gates.play(netlist, inputs, list(netlist.outputs), [[step[name] for name in inputs] for step in steps])
        return [dict(zip(netlist.outputs, values, strict=True)) for values in found]

    return played


@covers("agreement.gates", "The project's own code simulates the netlist")
@pytest.mark.parametrize(
    ("kind", "ones"),
    [
        ("nand2_x1", {0, 1, 2}),
        ("nor3_x4", {0}),
        ("aoi22_x2", {0, 1, 2, 4, 5, 6, 8, 9, 10}),
        # In the alphabet's order of A, B and S.
        ("mux2_x1", {1, 3, 6, 7}),
        ("maji3_x1", {0, 1, 2, 4}),
        ("xnor2_x1", {0, 3}),
    ],
)
def test_a_cell_does_what_the_library_says(kind, ones, play):
    """A netlist is simulated by the library's definitions of cells, flip-flops and memories; a cell without model, a
    second clock, a net with two drivers and a loop are refused."""
    name = kind.partition("_")[0]
    letters = next(each.inputs for each in synth.CELLS if each.name == name)
    inputs = list(range(2, 2 + len(letters)))
    top = module(
        {"i": inputs}, {"o": [9]}, cell(kind, **{at: [bit] for at, bit in zip(letters, inputs, strict=True)}, Y=[9])
    )
    rows = range(1 << len(letters))
    assert {
        row for row, said in zip(rows, play([{"i": row} for row in rows], top=top), strict=True) if said["o"]
    } == ones


@covers("agreement.gates")
def test_gates_come_in_the_order_of_their_inputs(play):
    chain = [cell("inv_x1", A=[bit], Y=[bit + 1]) for bit in range(2, 40)]
    for cells in (chain, chain[::-1]):
        top = module({"i": [2]}, {"o": [40], "constant": ["1", "0"]}, *cells)
        assert play([{"i": 1}, {"i": 0}], top=top) == [{"o": 1, "constant": 1}, {"o": 0, "constant": 1}]


@covers("agreement.gates")
def test_flip_flops_begin_at_zero_and_take_what_was_before_the_edge(play):
    shift = [cell(synth.FLIP_FLOP, CK=[2], D=[bit], Q=[bit + 1]) for bit in (3, 4)]
    top = module({"clk": [2], "i": [3]}, {"o": [4, 5]}, *shift)
    given = [1, 0, 1, 1]
    assert [said["o"] for said in play([{"i": bit} for bit in given], top=top)] == [0, 1, 2, 1]


@covers("agreement.gates")
def test_each_placement_of_a_module_has_a_state_of_its_own(play):
    toggle = module(
        {"clk": [2], "en": [3]},
        {"q": [5], "same": [3]},
        cell("xor2_x1", A=[3], B=[5], Y=[4]),
        cell(synth.FLIP_FLOP, CK=[2], D=[4], Q=[5]),
    )
    top = module(
        {"clk": [2], "i": [3, 4]},
        {"o": [5, 6], "passed": [7]},
        cell("toggle", clk=[2], en=[3], q=[5], same=[7]),
        cell("toggle", clk=[2], en=[4], q=[6]),
    )
    said = play([{"i": bits} for bits in (1, 2, 3, 0)], top=top, toggle=toggle)
    assert said == [{"o": o, "passed": p} for o, p in ((0, 1), (1, 0), (3, 1), (0, 0))]


def memory(**changed):
    counts = {"SIZE": 3, "WIDTH": 2, "RD_PORTS": 1, "WR_PORTS": 2, "RD_CLK_ENABLE": 0}
    counts |= {"RD_WIDE_CONTINUATION": 0, "WR_WIDE_CONTINUATION": 0, "OFFSET": 0}
    # Port 1 has priority over port 0.
    counts |= {"WR_CLK_ENABLE": 0b11, "WR_CLK_POLARITY": 0b11, "WR_PRIORITY_MASK": 0b0100} | changed
    parameters = {name: f"{value:032b}" for name, value in counts.items()} | {"INIT": "xx1001"}
    ports = {"WR_CLK": [2, 2], "WR_ADDR": [3, 4, 5, 6], "WR_DATA": [7, 8, 9, 10], "WR_EN": [11, 12, 13, 13]}
    ports |= {"RD_ADDR": [14, 15], "RD_DATA": [16, 17], "RD_CLK": ["x"]}
    inputs = {"clk": [2], "at": [3, 4, 5, 6], "data": [7, 8, 9, 10], "enable": [11, 12, 13], "read": [14, 15]}
    return module(inputs, {"o": [16, 17]}, cell(gates.MEMORY, parameters, **ports))


@covers("agreement.gates")
def test_a_memory_is_read_at_once_and_written_at_the_edge(play):
    def step(read, enable=0, at=0, data=0):
        return {"read": read, "enable": enable, "at": at, "data": data}

    steps = [
        *(step(word) for word in range(4)),
        step(1, enable=0b011, at=1, data=3),  # port 0 writes word 1
        step(1, enable=0b010, at=1),  # port 0 writes the upper bit alone
        step(1, enable=0b111, at=0b1010, data=0b0111),  # both write word 2, the second one last
        step(2, enable=0b011, at=3, data=3),  # there is no word 3
        step(3),
    ]
    assert [said["o"] for said in play(steps, top=memory())] == [1, 2, 0, 0, 2, 3, 1, 1, 0]


def without(port, top):
    return top | {"ports": {name: each for name, each in top["ports"].items() if name != port}}


def wired(*cells, clk=False):
    """Return a module with input i, net 2, and output o, net 3; with ``clk`` the input is the clock."""
    return module({"clk" if clk else "i": [2]}, {"o": [3]}, *cells)


NO_MEMORY, UNDRIVEN = "no model of the netlist's memory", "read and driven by nothing"
FLIP_FLOP = synth.FLIP_FLOP


@covers("agreement.gates")
@pytest.mark.parametrize(
    ("top", "says"),
    [
        (wired(cell("latch_x1", D=[2], Q=[3])), "no model of the netlist's cell latch_x1"),
        (memory(RD_CLK_ENABLE=1), NO_MEMORY),
        (memory(WR_WIDE_CONTINUATION=2), NO_MEMORY),
        (memory(WR_CLK_ENABLE=1), NO_MEMORY),
        (memory(WR_CLK_POLARITY=2), NO_MEMORY),
        (memory(WR_PRIORITY_MASK=0b0010), NO_MEMORY),
        (memory(OFFSET=4), NO_MEMORY),
        (
            wired(cell("inv_x1", A=[2], Y=[4]), cell(FLIP_FLOP, CK=[4], D=[3], Q=[3]), clk=True),
            "another clock than clk",
        ),
        (wired(cell("inv_x1", A=[2], Y=[3]), cell("buf_x1", A=[2], Y=[3])), "a net that is driven twice"),
        (wired(cell("nand2_x1", A=[2], B=["x"], Y=[3])), "an undefined bit, x"),
        (module({"i": [2]}, {"o": [2, "z"]}), "an undefined bit, z"),
        (without("enable", memory()), UNDRIVEN),
        (wired(cell("nand2_x1", A=[2], B=[4], Y=[3])), UNDRIVEN),
        (module({"i": [2]}, {"o": [2, 3]}), UNDRIVEN),
        (wired(cell(FLIP_FLOP, CK=[2], D=[4], Q=[3]), clk=True), UNDRIVEN),
        (wired(cell("inv_x1", A=[3], Y=[4]), cell("buf_x1", A=[4], Y=[3])), "a loop of gates without a register"),
    ],
)
def test_what_cannot_be_played_is_said(top, says, play, monkeypatch):
    monkeypatch.setattr(gates, "MOST_LEVELS", 50)
    with pytest.raises(SimulationError, match=says):
        play([{"i": 0}], top=top)


@covers("agreement.gates")
@pytest.mark.parametrize("connected", [{"a": [2]}, {"a": [2, 2, 2]}, {"b": [2, 2]}])
def test_a_module_with_other_ports_is_said(connected, play):
    inner = module({"a": [2, 3]}, {})
    with pytest.raises(
        SimulationError, match=r"\d bits are connected to inner's port [ab], which does not have so many"
    ):
        play([{"i": 0}], top=module({"i": [2]}, {}, cell("inner", **connected)), inner=inner)
