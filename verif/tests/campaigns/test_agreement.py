"""Engines give the same bits: each unit, the netlist's simulation, and the command's records."""

import json
import re
import time

import pytest
from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.emit import emit as emit_unit
from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns import agreement, gates
from bitpath.sim.campaigns.agreement import COMPARED_UNITS, ENGINES, NETLIST, REFERENCE, agree, agreed, answers
from bitpath.sim.engine import paths
from bitpath.sim.engine.build import Emitter, build
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.engine.results import write_records
from bitpath.sim.study import synth
from bitpath.verif.kit.testplan import covers

# Amaranth's simulator, Icarus, Verilator and the netlist of gates give the same bits: a test per unit.


SEED = 20261122
SIMULATORS = tuple(engine for engine in ENGINES if engine != NETLIST)

# These configurations are also built for Verilator by other tests.
SMALL = {
    "fidelity_multiplier": {"tests": "integer=True"},
    "psum": {"tests": "lanes.*both/busy=0.5", "cases": 250},
    "mx_convert": {"tests": "random|corners"},
    # The unit has no valid signal for its results.
    "mac_lane": {"tests": "random"},
}
"""Units whose simulators are compared without their netlists: the tests of their benches whose inputs are taken, and the
cases."""
QUICK = ("fidelity_multiplier",)
"""Those of them that every run of the tests compares; the deep tests have the others."""
SMALL_NETLISTS = ("fidelity_multiplier",)
"""Units that every run of the tests compares as gates too."""


def deep_unless(condition, value):
    """Return a parameter value; its test is marked deep unless the condition holds."""
    return pytest.param(value, marks=() if condition else pytest.mark.deep)


def hold(unit, engines, *, least, config=None, **options):
    found = agree(unit, config or UNITS[unit].agreed_config, engines=engines, seed=SEED, **options)
    assert found.engines == (REFERENCE, *engines)
    assert found.steps >= least
    assert found.values >= found.steps / 2


@covers(
    "agreement.simulators",
    "Verilog that tools interpret differently, or a simulator bug, shows as a difference between them",
)
@pytest.mark.parametrize("unit", [deep_unless(unit in QUICK, unit) for unit in SMALL])
@pytest.mark.simulator
def test_simulators_agree(unit):
    """Amaranth's simulator, Icarus and Verilator give the same bits at every output in the first steps of each test of
    a unit's own bench, and no output is left out."""
    hold(unit, SIMULATORS, least=100, **{"steps": 60} | SMALL[unit])


@covers("agreement.sabotage")
@pytest.mark.parametrize(("compared", "bits"), [(0, "0xf+"), (~4, "0x4")])
@pytest.mark.simulator
def test_an_output_that_is_never_compared_is_an_error(monkeypatch, compared, bits):
    """Nothing of it, or all but one bit."""
    play = agreement.play

    def say_less(*arguments):
        outputs, answers = play(*arguments)
        return outputs, [[(value & compared, counts & compared) for value, counts in step] for step in answers]

    monkeypatch.setattr(agreement, "play", say_less)
    says = rf"^fidelity_multiplier: in \d+ steps nothing was compared of bits {bits} of o; more"
    with pytest.raises(SimulationError, match=says):
        agree("fidelity_multiplier", UNITS["fidelity_multiplier"].config_type(), engines=(), recorded_on="icarus")


@covers("agreement.sabotage")
@pytest.mark.parametrize(
    ("inputs", "outputs", "says"),
    [
        ({"i": 8}, {"o": 4}, "outputs: o"),
        ({"i": 8}, {"q": 5}, "outputs: o, q"),
        ({"i": 7}, {"o": 5}, "inputs: i"),
        ({"i": 8, "j": 1}, {"o": 5}, "inputs: j"),
        ({}, {"o": 5}, "inputs: i"),
    ],
)
@pytest.mark.simulator
def test_a_netlist_with_other_ports_is_said(inputs, outputs, says, tmp_path):
    names = iter(range(2, 100))
    ports = {
        name: {"direction": direction, "bits": [next(names) if direction == "input" else "0" for _ in range(bits)]}
        for direction, of in (("input", {"clk": 1, **inputs}), ("output", outputs))
        for name, bits in of.items()
    }
    file = tmp_path / "netlist.json"
    file.write_text(json.dumps({"modules": {gates.TOP: {"ports": ports, "cells": {}}}}))
    with pytest.raises(SimulationError, match=f"^unit: the netlist and the unit differ in their {says}$"):
        agreement._hold_gates("unit", file, ({"i": 8}, [[0]]), ({"o": 5}, [[(0, 31)]]))


class Halves(wiring.Component):
    """Two words in one output, and which of them are valid; a stream of one word."""

    words: In(8)
    valid: In(3)
    result: Out(8)
    result_valid: Out(2)
    o: Out(stream.Signature(4))

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [self.result.eq(self.words), self.result_valid.eq(self.valid), self.o.valid.eq(self.valid[2])]
        m.d.sync += self.o.p.eq(self.words)
        return m


@covers("agreement.simulators")
@pytest.mark.simulator
def test_only_what_is_valid_counts():
    steps = [(1, 0xAB, 7), (0, 0xAB, 7), (0, 0x34, 5), (0, 0x34, 2), (0, 0x34, 0)]
    outputs, answers = agreement.play(Halves(), ("rst", "words", "valid"), steps)
    assert outputs == {"result": 8, "result_valid": 2, "o__payload": 4, "o__valid": 1}
    # In reset nothing does; the payload is the word of the step before, cut to its lower half.
    assert answers == [
        [(0, 0)] * 4,
        [(0xAB, 0xFF), (3, 3), (0, 15), (1, 1)],
        [(0x04, 0x0F), (1, 3), (0xB, 15), (1, 1)],
        [(0x30, 0xF0), (2, 3), (0, 0), (0, 1)],
        [(0, 0), (0, 3), (0, 0), (0, 1)],
    ]


def recorded_test(offers, *, steps=1000):
    changes = ((0, 0, 1), (2, 0, 0), (2, 1, 5), (4, 1, 6))
    return agreement.Recorded("any", {"rst": 1, "i": 3}, changes, steps, offers)


@covers("agreement.simulators")
@pytest.mark.simulator
def test_a_recording_gives_every_step():
    assert recorded_test({}).values(6) == [[1, 0], [1, 0], [0, 5], [0, 5], [0, 6], [0, 6]]


@covers("agreement.simulators")
@pytest.mark.simulator
def test_enough_steps_are_taken_that_every_stream_says_something():
    one, other = recorded_test({"o": 300, "data": 980}), recorded_test({"o": 100, "data": None}, steps=20)
    assert agreement.first_steps([one, other], 30) == [1000, 20]
    assert agreement.first_steps([recorded_test({"o": 300}), recorded_test({"o": 100})], 30) == [30, 130]
    assert agreement.first_steps([recorded_test({"o": 300}), recorded_test({"o": 29})], 30) == [30, 30]
    assert agreement.first_steps([recorded_test({"o": None}), recorded_test({"o": None})], 30) == [30, 30]


@covers("agreement.netlist", "Gate counts come from the netlist, not from the RTL")
@pytest.mark.parametrize("unit", [deep_unless(unit in SMALL_NETLISTS, unit) for unit in COMPARED_UNITS])
@pytest.mark.simulator
def test_simulators_and_netlist_agree(unit):
    """The gate netlist of Yosys and abc gives the same bits for every unit; small units run in every test run."""
    _, found = agreed(unit, ENGINES, 30, 0, answers())
    assert (found.unit, found.engines) == (unit, (REFERENCE, *ENGINES))
    assert found.steps >= 100
    assert found.values >= found.steps / 2


OTHER = {"nand2": "nor2", "nor2": "nand2"}


@covers("agreement.sabotage", "A comparison that finds no planted fault may compare nothing")
@pytest.mark.parametrize("share", [deep_unless(share == 0.5, share) for share in (0.0, 0.25, 0.5, 0.75, 1.0)])
@pytest.mark.simulator
def test_a_gate_of_another_function_is_found(share, tmp_path):
    """A gate of another function, flip-flops or connections exchanged, a memory that is always written, other ports,
    and an operator of another function in the Verilog are found."""

    def changed(unit, config):
        content = json.loads(gates.netlist(unit, config).read_text())
        cells = content["modules"][gates.TOP]["cells"].values()
        found = [cell for cell in cells if cell["type"].partition("_")[0] in OTHER]
        kind, _, size = found[place := int(share * (len(found) - 1))]["type"].partition("_")
        found[place]["type"] = f"{OTHER[kind]}_{size}"
        (tmp_path / "changed.json").write_text(json.dumps(content))
        return tmp_path / "changed.json"

    says = (
        r"fidelity_multiplier: the netlist does not give the bits of Amaranth's simulator: \d+ mismatches in \d+ values"
    )
    with pytest.raises(SimulationError, match=says):
        hold("fidelity_multiplier", (NETLIST,), least=1, recorded_on="icarus", gates_of=changed)


def cells(modules, kind=None):
    """Return the cells of all modules, or those of a kind."""
    return [cell for each in modules.values() for cell in each["cells"].values() if kind in (None, cell["type"])]


def another_d(modules):
    """Two flip-flops of one module take each other's input."""
    one, other, *_ = (cell["connections"] for cell in cells(modules, synth.FLIP_FLOP))
    one["D"], other["D"] = other["D"], one["D"]


def always_written(modules):
    """A memory is written in every cycle."""
    memory = cells(modules, gates.MEMORY)[0]["connections"]
    memory["WR_EN"] = ["1"] * len(memory["WR_EN"])


def crossed(modules):
    """The lowest and the highest bit of an inner module's output go where the other one should."""
    ports = next(
        cell["connections"][port]
        for cell in cells(modules)
        for port, said in modules.get(cell["type"], {"ports": {}})["ports"].items()
        if said["direction"] == "output" and len(cell["connections"].get(port, ())) > 1
    )
    ports[0], ports[-1] = ports[-1], ports[0]


@covers("agreement.sabotage")
@pytest.mark.deep
@pytest.mark.parametrize("change", [another_d, always_written, crossed])
@pytest.mark.simulator
def test_other_registers_memories_and_connections_are_found(change, tmp_path):
    def changed(unit, config):
        content = json.loads(gates.netlist(unit, config).read_text())
        change(content["modules"])
        (tmp_path / "changed.json").write_text(json.dumps(content))
        return tmp_path / "changed.json"

    with pytest.raises(SimulationError, match="psum: the netlist does not give the bits of Amaranth's simulator"):
        hold("psum", (NETLIST,), least=1, gates_of=changed, **SMALL["psum"] | {"steps": 60})


@covers("agreement.sabotage")
@pytest.mark.simulator
def test_another_design_is_found(monkeypatch, elsewhere):
    """Icarus gets Verilog in which one operator is another."""

    def emit(unit, config, out):
        emitted = emit_unit(unit, config, out)
        (file,) = emitted.files
        text, changed = re.subn(r"(?m)^(  assign .*) & ", r"\1 | ", file.read_text(), count=1)
        assert changed == 1
        file.write_text(text)
        return emitted

    given = {"verilator": None, "icarus": Emitter(emit, ())}
    monkeypatch.setattr(agreement, "build", lambda *what: build(*what, emitter=given[what[-1]]))
    says = "fidelity_multiplier: icarus does not give the bits of Amaranth's simulator"
    with pytest.raises(SimulationError, match=says):
        hold("fidelity_multiplier", ("icarus",), least=1, tests="integer=True")


# Netlist simulation: cells, flip-flops, memories, nested modules; a cell without a model is reported.


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


@pytest.fixture
def asked(monkeypatch, in_process):
    """Replace the engines: psum differs, all others agree; return the requests."""
    asked = []

    def answer(unit, config, *, engines, steps, seed):
        asked.append((unit, type(config).__name__, engines, steps, seed))
        if unit == "psum":
            raise SimulationError("psum: verilator does not give the bits of Amaranth's simulator\nlog: [a]")
        return agreement.Agreement(unit, "0" * 8, (agreement.REFERENCE, *engines), 30, 60, 7)

    monkeypatch.setattr(agreement, "agree", answer)
    return asked


@covers("agreement.resumed", "A run of an hour may be interrupted, and a stale result must not count")
def test_an_agreement_is_not_repeated(bitpath, asked):
    """A unit that agreed is skipped if sources, tools, steps and seed are unchanged; a unit that failed always runs
    again."""
    for _ in range(2):
        assert bitpath("agree", "ups", "psum", "--no-netlist")[0] == 1
        assert [record["status"] for record in recorded().values()] == ["agrees", "failed"]
    assert [unit for unit, *_ in asked] == ["ups", "psum", "psum"]
    bitpath("agree", "ups", "--no-netlist", "--seed", "8")
    bitpath("agree", "ups", "--no-netlist", "--steps", "31")
    assert [(unit, steps, seed) for unit, _, _, steps, seed in asked[3:]] == [("ups", 30, 8), ("ups", 31, 0)]


@covers("agreement.resumed")
def test_an_agreement_is_repeated_with_other_sources(bitpath, asked, monkeypatch):
    bitpath("agree", "ups", "--no-netlist")
    monkeypatch.setattr(agreement, "_sources", lambda unit: {"sources": "others"})
    bitpath("agree", "ups", "--no-netlist")
    assert len(asked) == 2


def test_an_agreement_is_repeated_if_sources_changed_meanwhile(bitpath, asked, monkeypatch):
    monkeypatch.setattr(agreement, "_sources", lambda unit: {"sources": "before"})
    monkeypatch.setattr(agreement, "_sources_now", lambda unit: {"sources": "after"})
    for _ in range(2):
        assert bitpath("agree", "ups", "--no-netlist")[0] == 0
    assert len(asked) == 2


def test_a_unit_too_large_for_a_netlist_is_refused_by_name_and_left_out_of_all(bitpath, asked, monkeypatch):
    # Sources of all units take seconds to hash.
    for name in ("_sources", "_sources_now"):
        monkeypatch.setattr(agreement, name, lambda unit: {"sources": unit})
    status, _, err = bitpath("agree", "dot16", "tensix_core", "--no-netlist")
    assert status == 2
    assert "tensix_core is not compared: its programs need an L1 of 256 KiB" in " ".join(err.split())
    assert asked == []
    bitpath("agree", "--no-netlist")
    assert {unit for unit, *_ in asked} == UNITS.keys() - {"tensix_core", "sfpu"}


def test_agreement_is_recorded(bitpath, asked):
    status, out, err = bitpath("agree", "ups", "srs", "--no-netlist", "--seed", "7", "--steps", "9")
    assert (status, err) == (0, "")
    simulators = ("icarus", "verilator")
    assert asked == [(unit, "IntegerLanesConfig", simulators, 9, 7) for unit in ("ups", "srs")]
    assert list(recorded()) == ["ups", "srs"]
    assert recorded()["ups"]["engines"] == ["amaranth", *simulators]
    assert "ups: 60 values in 30 steps agree" in out


def recorded():
    return {record["unit"]: record for record in json.loads((paths.reports() / "agreement.json").read_text())}


def test_a_difference_fails_and_the_others_are_kept(bitpath, asked):
    write_records(paths.reports() / "agreement.json", [{"unit": "psum", "status": "agrees", "began": time.time() + 60}])
    status, out, err = bitpath("agree", "psum", "ups", "--no-netlist")
    assert status == 1
    assert err == "bitpath: psum: verilator does not give the bits of Amaranth's simulator\nlog: [a]\n"
    assert "psum: verilator does not give the bits of Amaranth's simulator\n" in out
    assert {unit: record["status"] for unit, record in recorded().items()} == {"psum": "failed", "ups": "agrees"}


@covers("robustness.stale")
def test_records_of_other_units_stay_unless_they_are_older_than_the_sources(bitpath, asked):
    old, new = {"unit": "xorwow", "began": 1.0}, {"unit": "srs", "began": time.time() + 60}
    write_records(paths.reports() / "agreement.json", [old, new])
    assert bitpath("agree", "ups", "--no-netlist")[0] == 0
    assert list(recorded()) == ["srs", "ups"]


def test_a_mistake_is_a_sentence(bitpath, asked):
    status, out, err = bitpath("agree", "nosuch")
    assert (status, out, asked) == (2, "", [])
    assert err.startswith("bitpath: unknown unit 'nosuch', known are quad_mx_dot")
    assert bitpath("agree", "ups", "--steps", "0")[0] == 2
