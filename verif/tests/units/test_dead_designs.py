# amaranth: UnusedElaboratable=no
"""Every test of every bench fails on a dead design; a bench that a dead design passes checks nothing (onnxruntime#31155)."""

import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from amaranth import Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from bitpath.rtl.aie_ml_v2.engine.aie_engine import AieEngine
from bitpath.rtl.tensix.engine.tensix_engine import TensixEngine
from bitpath.rtl.units import UNITS, find_unit
from bitpath.sim.campaigns.coverage import SEED
from bitpath.sim.engine.runner import SimulationError, build, run
from bitpath.verif.kit.scoreboard import IMPATIENT
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tests.units.manners import LARGE

HANDSHAKES = ("valid", "ready")
QUICK = ("element_map", "fidelity_multiplier", "cascade_link")
"""A unit of each machine whose bench fails in seconds on Icarus; the deep tests have all others."""


class Dead(wiring.Component):
    """A unit's ports with all outputs 0; with ``alive_handshakes`` valid and ready come from the unit itself."""

    def __init__(self, unit: wiring.Component, *, alive_handshakes: bool):
        self.unit, self.alive_handshakes = unit, alive_handshakes
        super().__init__(dict(unit.signature.members.items()))

    def elaborate(self, platform):
        m = Module()
        if self.alive_handshakes:
            m.submodules.unit = self.unit
        elif getattr(self.unit, "clocked", True):
            # The unit is not elaborated; clock and reset stay ports of a clocked unit.
            unread = Signal()
            m.d.sync += unread.eq(1)
        inner = {path: value for path, _, value in self.unit.signature.flatten(self.unit)}
        for path, member, value in self.signature.flatten(self):
            if isinstance(value, Const):
                continue
            if member.flow is Out:
                # An undriven output would become an input of the Verilog, and its X or Z would fail a bench instead of a 0.
                alive = self.alive_handshakes and path[-1] in HANDSHAKES
                m.d.comb += Value.cast(value).eq(Value.cast(inner[path]) if alive else 0)
            elif self.alive_handshakes:
                m.d.comb += Value.cast(inner[path]).eq(Value.cast(value))
        return m


def dead(unit, config, *, alive_handshakes):
    return Dead(find_unit(unit).build(config), alive_handshakes=alive_handshakes)


@covers(
    "aie_engine.alive",
    "onnxruntime#31155: an all-zeros kernel would pass",
    "A dead design, with and without live handshakes, fails every test",
)
@covers(
    "core_array.alive",
    "onnxruntime#31155: what a dead design passes checks nothing",
    "A dead design fails every test of the bench",
)
@covers(
    "systolic_array.alive",
    "onnxruntime#31155: what a dead design passes checks nothing",
    "A dead design fails every test of the bench",
)
@covers(
    "tensix_engine.alive",
    "onnxruntime#31155: a test that a dead design passes checks nothing",
    "A dead design, with and without live handshakes, fails every test",
)
@covers(
    "tensor_engine.alive",
    "onnxruntime#31155: what a dead design passes checks nothing",
    "A dead design fails every test of the bench, and a run whose engine was never busy is an error",
)
@covers(
    "units.dead",
    "onnxruntime#31155: an all-zeros kernel would pass",
    "A design of zeros, with and without live handshakes, fails every test of its bench",
)
@pytest.mark.parametrize(
    ("unit", "alive_handshakes"),
    [
        # Zero data with live handshakes is the hardest case.
        pytest.param(unit, alive, marks=[] if unit in QUICK and alive else [pytest.mark.deep])
        for unit in UNITS
        for alive in (False, True)
    ],
    ids=lambda value: {False: "all zero", True: "zero data"}.get(value, value),
)
@pytest.mark.simulator
def test_a_dead_design_fails_every_test_of_its_bench(unit, alive_handshakes, tmp_path, elsewhere, emitter_of):
    # A separate folder, since the build key does not distinguish the two designs.
    emitter = emitter_of(partial(dead, alive_handshakes=alive_handshakes))
    simulator = "verilator" if alive_handshakes and unit in LARGE else "icarus"
    built = build(unit, find_unit(unit).config_type(), simulator, emitter=emitter)
    with pytest.raises(SimulationError, match=re.compile(r"(\d+) of \1 tests failed")):
        run(built, UNITS[unit].bench, seed=1, env={"BITPATH_CASES": "20", IMPATIENT: "1"}, timeout=300)
    (log,) = tmp_path.rglob("run.log")
    assert "AttributeError" not in log.read_text(), "the bench failed of a missing port, not of what it saw"


# The reset bench fails if a result in flight to the memory survives a reset.


PROGRAMS = {"tensix_engine": 40, "aie_engine": 60}
STAGES = 4
"""Delay between an engine and its result memory in cycles."""


def late(m, write, *, resets):
    """Return a result memory write delayed by some cycles."""
    for _ in range(STAGES):
        register = Signal(write.shape(), reset_less=not resets)
        m.d.sync += register.eq(write)
        write = register
    return write


class LateAieEngine(AieEngine):
    resets = True

    def _results(self, m, storer):
        super()._results(m, SimpleNamespace(write=late(m, storer.write, resets=self.resets)))


class LateTensixEngine(TensixEngine):
    resets = True

    def _memories(self, m, left, right, storer):
        write = late(m, storer.write, resets=self.resets)
        super()._memories(m, left, right, SimpleNamespace(write=write, old_address=storer.old_address, old=storer.old))


ENGINES = {"tensix_engine": LateTensixEngine, "aie_engine": LateAieEngine}


def late_engine(unit, config, *, resets):
    engine = ENGINES[unit](config)
    engine.resets = resets
    return engine


@covers("resets.sabotage")
@pytest.mark.parametrize("unit", ENGINES)
@pytest.mark.simulator
@pytest.mark.deep
def test_a_valid_bit_that_reset_leaves_is_found(unit, tmp_path, monkeypatch, emitter_of):
    config, bench = UNITS[unit].covered.config, f"{UNITS[unit].bench}_resets"
    settings = {"seed": SEED, "min_tests": 2, "env": {"BITPATH_CASES": str(PROGRAMS[unit])}, "timeout": 1200}
    # Separate folders, since the build key does not distinguish the two designs.
    for resets in (True, False):
        folder = tmp_path / str(resets)
        folder.mkdir()
        monkeypatch.chdir(folder)
        built = build(unit, config, "verilator", emitter=emitter_of(partial(late_engine, resets=resets)))
        if resets:
            run(built, bench, **settings)
        else:
            with pytest.raises(SimulationError, match="of 2 tests failed: programs_broken_off"):
                run(built, bench, **settings)
    (log,) = Path(".").rglob("run.log")
    assert "read at once behind a reset" in log.read_text()
