"""Amaranth's simulator, Icarus, Verilator and the netlist of gates give the same bits: a test per unit."""

import re

import pytest

from bitpath.golden.spec.trainium3 import TRAINIUM3_QUAD_MX
from bitpath.rtl.config import PipelineConfig
from bitpath.rtl.trainium3.config import DotConfig, PsumConfig
from bitpath.rtl.units import UNITS
from bitpath.sim.agree import netlist, recorded, reference
from bitpath.sim.agree.agree import ENGINES, NETLIST, REFERENCE, agree
from bitpath.sim.build import Emitter
from bitpath.sim.errors import SimulationError

pytestmark = pytest.mark.simulator
SEED = 20261122
SIMULATORS = tuple(engine for engine in ENGINES if engine != NETLIST)

# In configurations that other tests build for Verilator too.
SMALL = {
    "fidelity_multiplier": {"tests": "integer=True"},
    "quad_mx_dot": {
        "config": DotConfig(numerics=TRAINIUM3_QUAD_MX.numerics, pipeline=PipelineConfig(stages=2)),
        "tests": "random|latency",
        "cases": 80,
    },
    "psum": {"config": PsumConfig(cols=2, bank_depth=16), "tests": "lanes.*both/busy=0.5", "cases": 250, "steps": 600},
    "unpacker": {"tests": "random_rows|thirty_two|block_floats", "cases": 50},
    "mx_convert": {"tests": "random|corners", "cases": 50},
}
"""Units compared in every run of the tests: their configuration where it is not the default, and the tests of their
benches whose inputs are taken."""


def hold(unit, engines, *, least, config=None, **options):
    agreement = agree(unit, config or UNITS[unit].config_type(), engines=engines, seed=SEED, **options)
    assert agreement.engines == (REFERENCE, *engines)
    assert agreement.steps >= least
    assert agreement.values >= agreement.steps
    return agreement


@pytest.mark.parametrize("unit", SMALL)
def test_simulators_agree(unit):
    hold(unit, SIMULATORS, least=100, **{"steps": 60} | SMALL[unit])


def test_an_output_that_is_never_compared_is_an_error(monkeypatch):
    play = reference.play

    def say_nothing(*arguments):
        outputs, answers = play(*arguments)
        return outputs, [[None] * len(outputs) for _ in answers]

    monkeypatch.setattr(reference, "play", say_nothing)
    with pytest.raises(SimulationError, match=r"^fidelity_multiplier: in \d+ steps nothing was compared of o; more"):
        agree("fidelity_multiplier", UNITS["fidelity_multiplier"].config_type(), engines=(), recorded_on="icarus")


def recorded_test(offers, *, steps=1000):
    changes = ((0, 0, 1), (2, 0, 0), (2, 1, 5), (4, 1, 6))
    return recorded.Recorded(("rst", "i"), changes, steps, offers)


def test_a_recording_gives_every_step():
    assert recorded_test({}).values(6) == [[1, 0], [1, 0], [0, 5], [0, 5], [0, 6], [0, 6]]


def test_enough_steps_are_taken_that_every_stream_says_something():
    one, other = recorded_test({"o": 300, "data": 980}), recorded_test({"o": 100, "data": None}, steps=20)
    assert recorded.first_steps([one, other], 30) == [1000, 20]
    assert recorded.first_steps([recorded_test({"o": 300}), recorded_test({"o": 100})], 30) == [30, 130]
    assert recorded.first_steps([recorded_test({"o": 300}), recorded_test({"o": 29})], 30) == [30, 30]
    assert recorded.first_steps([recorded_test({"o": None}), recorded_test({"o": None})], 30) == [30, 30]


@pytest.mark.deep
@pytest.mark.parametrize("unit", UNITS)
def test_simulators_and_netlist_agree(unit):
    hold(unit, ENGINES, least=100, steps=30)


GATE = re.compile(r"^  (nand2|nor2)(_x\d \S+ \()", re.MULTILINE)
OTHER = {"nand2": "nor2", "nor2": "nand2"}


def with_another_gate(share):
    """The emitter of netlists with one gate's function changed: the one at this share of all NAND2 and NOR2."""
    true = netlist.emitter()

    def emit(unit, config, out):
        emitted = true.emit(unit, config, out)
        file = out / netlist.NETLIST
        text = file.read_text()
        gates = list(GATE.finditer(text))
        gate = gates[int(share * (len(gates) - 1))]
        file.write_text(text[: gate.start(1)] + OTHER[gate[1]] + text[gate.end(1) :])
        return emitted

    return Emitter(emit, true.sources)


@pytest.mark.deep
@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_a_gate_of_another_function_is_found(share, tmp_path, monkeypatch):
    # A folder of its own: the key of a build does not say which gate was changed.
    monkeypatch.chdir(tmp_path)
    says = (
        r"fidelity_multiplier: netlist does not give the bits of Amaranth's simulator: (?s:.*)mismatches in \d+ values"
    )
    with pytest.raises(SimulationError, match=says):
        hold("fidelity_multiplier", (NETLIST,), least=1, recorded_on="icarus", gates=with_another_gate(share))


def test_another_design_is_found(tmp_path, monkeypatch):
    """The netlist's part is played by Verilog in which one operator is another."""
    monkeypatch.chdir(tmp_path)

    def emit(unit, config, out):
        from bitpath.rtl.emit import emit as emit_unit

        emitted = emit_unit(unit.removesuffix(netlist.SUFFIX), config, out)
        (file,) = emitted.files
        text, changed = re.subn(r"(?m)^(  assign .*) & ", r"\1 | ", file.read_text(), count=1)
        assert changed == 1
        file.write_text(text)
        return emitted

    with pytest.raises(SimulationError, match="fidelity_multiplier: netlist does not give the bits"):
        hold(
            "fidelity_multiplier",
            (NETLIST,),
            least=1,
            tests="integer=True",
            recorded_on="icarus",
            gates=Emitter(emit, ()),
        )
