"""Amaranth's simulator, Icarus, Verilator and the netlist of gates give the same bits: a test per unit."""

import json
import re

import pytest
from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.emit import emit as emit_unit
from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns import agreement, gates
from bitpath.sim.campaigns.agreement import COMPARED_UNITS, ENGINES, NETLIST, REFERENCE, agree, agreed, answers
from bitpath.sim.engine.build import Emitter, build
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.study import synth
from bitpath.verif.kit.testplan import covers

pytestmark = pytest.mark.simulator
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
def test_simulators_agree(unit):
    """Amaranth's simulator, Icarus and Verilator give the same bits at every output in the first steps of each test of
    a unit's own bench, and no output is left out."""
    hold(unit, SIMULATORS, least=100, **{"steps": 60} | SMALL[unit])


@covers("agreement.sabotage")
@pytest.mark.parametrize(("compared", "bits"), [(0, "0xf+"), (~4, "0x4")])
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
def test_a_recording_gives_every_step():
    assert recorded_test({}).values(6) == [[1, 0], [1, 0], [0, 5], [0, 5], [0, 6], [0, 6]]


@covers("agreement.simulators")
def test_enough_steps_are_taken_that_every_stream_says_something():
    one, other = recorded_test({"o": 300, "data": 980}), recorded_test({"o": 100, "data": None}, steps=20)
    assert agreement.first_steps([one, other], 30) == [1000, 20]
    assert agreement.first_steps([recorded_test({"o": 300}), recorded_test({"o": 100})], 30) == [30, 130]
    assert agreement.first_steps([recorded_test({"o": 300}), recorded_test({"o": 29})], 30) == [30, 30]
    assert agreement.first_steps([recorded_test({"o": None}), recorded_test({"o": None})], 30) == [30, 30]


@covers("agreement.netlist", "Gate counts come from the netlist, not from the RTL")
@pytest.mark.parametrize("unit", [deep_unless(unit in SMALL_NETLISTS, unit) for unit in COMPARED_UNITS])
def test_simulators_and_netlist_agree(unit):
    """The gate netlist of Yosys and abc gives the same bits for every unit; small units run in every test run."""
    _, found = agreed(unit, ENGINES, 30, 0, answers())
    assert (found.unit, found.engines) == (unit, (REFERENCE, *ENGINES))
    assert found.steps >= 100
    assert found.values >= found.steps / 2


OTHER = {"nand2": "nor2", "nor2": "nand2"}


@covers("agreement.sabotage", "A comparison that finds no planted fault may compare nothing")
@pytest.mark.parametrize("share", [deep_unless(share == 0.5, share) for share in (0.0, 0.25, 0.5, 0.75, 1.0)])
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
def test_other_registers_memories_and_connections_are_found(change, tmp_path):
    def changed(unit, config):
        content = json.loads(gates.netlist(unit, config).read_text())
        change(content["modules"])
        (tmp_path / "changed.json").write_text(json.dumps(content))
        return tmp_path / "changed.json"

    with pytest.raises(SimulationError, match="psum: the netlist does not give the bits of Amaranth's simulator"):
        hold("psum", (NETLIST,), least=1, gates_of=changed, **SMALL["psum"] | {"steps": 60})


@covers("agreement.sabotage")
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
